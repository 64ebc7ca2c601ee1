/**
 * Who takes part: the queue's own code, each actor with a database of its own that stops before every statement. Nothing of
 * the protocol is modelled here; what is left out is the clockwork around it (timers, heartbeats, hints), because a schedule
 * decides when something happens.
 */
import type { AuditEntry } from '../../src/audit/entry.ts'
import type { Database } from '../../src/db/database.ts'
import { createEventCounts } from '../../src/lib/event-counts.ts'
import { silentLog } from '../../src/lib/log.ts'
import { queueConfigSchema } from '../../src/queue/config.ts'
import { createWorkQueue } from '../../src/queue/create-work-queue.ts'
import type { AnyItemType } from '../../src/queue/item-type.ts'
import { createOutcomes } from '../../src/queue/outcomes.ts'
import { processWorkItem } from '../../src/queue/processing-loop.ts'
import { createSweepWorkItems } from '../../src/queue/sql/claim-due-work-items.ts'
import type { Claimed } from '../../src/queue/sql/claim-sql.ts'
import { createClaimWorkItems } from '../../src/queue/sql/claim-work-items.ts'
import { createReadObservations } from '../../src/queue/sql/read-observations.ts'
import { createStorePendingEvents } from '../../src/queue/store-pending-events.ts'
import { createErrandType } from '../support/errand-type.ts'
import { CLAIM, registry } from '../support/statements.ts'

export const ITEM = '01890000-0000-7000-8000-000000000001'
export const LEASE_MS = 60_000

export type Role = 'inserter' | 'worker' | 'sweeper' | 'caller'

/** `rests`: an event leaves nothing to do, so the exit is a statement of its own. `acts`: the exit rides on an action. */
export type AfterEvent = 'rests' | 'acts'

export interface ActorContext {
  readonly db: Database
  /** Also the name of an inserter's event. */
  readonly name: string
  readonly afterEvent: AfterEvent
  readonly record: (entry: AuditEntry) => void
}

export const ROLES: Readonly<Record<Role, (context: ActorContext) => Promise<void>>> = {
  async inserter({ db, name }) {
    const store = createStorePendingEvents({ db, manager: NOBODY, hints: NO_HINTS, counts })
    await store([ITEM], { eventType: name, eventAt: new Date(0), sourceId: name, body: { name } })
  },
  async worker(context) {
    const itemTypes = TYPES[context.afterEvent]
    const claim = createClaimWorkItems(context.db, itemTypes)
    await work(context, await claim([ITEM], { ...CLAIM, leaseMs: LEASE_MS }))
  },
  sweeper: sweepOnce,
  async caller({ db, name, afterEvent, record }) {
    const itemTypes = TYPES[afterEvent]
    const manager = { ...NOBODY, reserve: () => null }
    const parts = {
      ...{ db, itemTypes, audit: { record }, manager, hints: NO_HINTS, counts },
      ...{ findPause: () => null, openItems: UNLIMITED },
    }
    const queue = createWorkQueue({ ...parts, leaseMs: LEASE_MS })
    await queue.retry(ITEM, name)
  },
}

/** A sweep, and work on what it has found. */
export async function sweepOnce(context: ActorContext): Promise<void> {
  const itemTypes = TYPES[context.afterEvent]
  await work(context, await createSweepWorkItems(context.db, itemTypes)({ ...CLAIM, leaseMs: LEASE_MS }))
}

async function work({ db, afterEvent, record }: ActorContext, claimed: readonly Claimed[]): Promise<void> {
  const itemTypes = TYPES[afterEvent]
  const deps = {
    db,
    itemTypes,
    config: { ...queueConfigSchema.parse({}), item_deadline: Number.POSITIVE_INFINITY },
    outcomes: createOutcomes(db, itemTypes),
    read: createReadObservations(db, itemTypes),
    audit: { record },
    log: silentLog,
    random: () => 0.5,
    inWorker: <T>(run: () => Promise<T>) => run(),
    findPause: () => null,
    isStopping: () => false,
    counts,
  }
  for (const observation of claimed) {
    // A lease that never notices its end: the worst of zombies, which only the epoch can stop.
    const lease = { workItemId: ITEM, epoch: observation.epoch, signal: NEVER, isLost: false, interrupt() {}, end() {} }
    await processWorkItem(deps, lease, observation)
  }
}

const counts = createEventCounts()
const NEVER = new AbortController().signal
const NOBODY = { notify() {}, isBusy: () => false }
const UNLIMITED = { within: <T>(_owner: unknown, make: (excess: null) => Promise<T>) => make(null) }
const NO_HINTS = { ride: () => false, send() {}, sendReleased() {}, async stop() {} }

const TYPES: Readonly<Record<AfterEvent, ReadonlyMap<string, AnyItemType>>> = {
  rests: registry(typeThat('rests')),
  acts: registry(typeThat('acts')),
}

/** A retry asks for `needs_run`, an event, where it asks for anything, for `needs_check`; both actions succeed. */
function typeThat(afterEvent: AfterEvent): AnyItemType {
  const { type } = createErrandType({
    run: async (draft) => {
      draft.settle('needs_run')
      return { outcome: 'succeeded' }
    },
    handle: ({ eventType }) => ({
      phase: null,
      dimensions: [{ dimension: 'needs_check', status: afterEvent === 'acts' ? 'true' : 'false' }],
      trigger: eventType,
    }),
  })
  return type
}
