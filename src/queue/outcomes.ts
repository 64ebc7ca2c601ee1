/**
 * The writes by which a worker ends a step: an action's success or failure, an event, going to rest, giving a lease back.
 * Those of different items travel together, one statement and one commit for a group; a lone one goes at once (decision
 * 0062).
 *
 * The database may go away in the middle: then nobody knows whether the write took place. It is sent again for as long as
 * the lease holds, and an outcome that finds its lease given back by the same epoch was recorded the first time.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../db/database.ts'
import { isDatabaseTrouble } from '../lib/connection-error.ts'
import { createGrouper } from '../lib/grouper.ts'
import type { Lease } from './lease.ts'
import type { ItemTypes } from './sql/detail-sql.ts'
import type { Locking, Recorded } from './sql/outcome-sql.ts'
import { readRecorded } from './sql/read-recorded.ts'
import { type AppliedEvent, createRecordEvents, type RecordedEvent } from './sql/record-events.ts'
import { createRecordFailures, type FailureRecord } from './sql/record-failures.ts'
import { createRecordSuccesses, type Success } from './sql/record-successes.ts'
import { createReleaseLeases, type Release } from './sql/release-leases.ts'
import { createRestWorkItems, type Rest } from './sql/rest-work-items.ts'

/** All answer null where the lease is lost. */
export interface Outcomes {
  success(lease: Lease, success: Success): Promise<Recorded | null>
  failure(lease: Lease, failure: FailureRecord): Promise<Recorded | null>
  event(lease: Lease, event: AppliedEvent): Promise<RecordedEvent | null>
  /** False: something has come, or the lease is lost; look again. */
  rest(lease: Lease, rest: Rest): Promise<boolean>
  release(release: Release): Promise<void>
}

const GROUP = 500
const RETRY_MS = 100
const LONGEST_RETRY_MS = 2_000
const RELEASE_PAUSES_MS = [20, 100, 500]

export function createOutcomes(db: Database, itemTypes: ItemTypes): Outcomes {
  const success = createWriter(createRecordSuccesses(db, itemTypes))
  const failure = createWriter(createRecordFailures(db))
  const event = createWriter(createRecordEvents(db))
  const rest = createWriter(asList(createRestWorkItems(db)))
  const release = createReleaser(asList(createReleaseLeases(db)))

  return {
    success: (lease, input) =>
      persist(
        lease,
        () => success(input),
        () => readRecorded(db, lease),
      ),
    failure: (lease, input) =>
      persist(
        lease,
        () => failure(input),
        () => readRecorded(db, lease),
      ),
    event: (lease, input) =>
      persist(
        lease,
        () => event(input),
        async () => {
          const recorded = await readRecorded(db, lease)
          return recorded === null ? null : { ...recorded, stale: false, lastEventAt: input.eventAt }
        },
      ),
    rest: async (lease, input) =>
      (await persist(
        lease,
        () => rest(input),
        async () => ((await readRecorded(db, lease))?.released ? true : null),
      )) ?? false,
    release,
  }
}

type Write<In, Out> = (inputs: readonly In[], locking: Locking) => Promise<readonly (Out | null)[]>

/** Together with others first, without waiting for a row; then, where that brought nothing, alone and waiting. */
function createWriter<In, Out>(write: Write<In, Out>): (input: In) => Promise<Out | null> {
  const groups = createGrouper<In, Out | null>({
    run: (inputs) => write(inputs, 'skip'),
    maxSize: GROUP,
    isShared: isDatabaseTrouble,
  })
  return async (input) => (await groups.run(input)) ?? (await write([input], 'wait'))[0] ?? null
}

/**
 * Nobody waits long to give a lease back, least of all a process that is stopping: where the row stays locked, the lease runs
 * out by itself.
 */
function createReleaser(write: Write<Release, true>): (input: Release) => Promise<void> {
  const groups = createGrouper<Release, true | null>({
    run: (inputs) => write(inputs, 'skip'),
    maxSize: GROUP,
    isShared: isDatabaseTrouble,
  })
  return async (input) => {
    for (const pauseMs of RELEASE_PAUSES_MS) {
      if ((await groups.run(input)) !== null) return
      await delay(pauseMs)
    }
  }
}

function asList<In extends { readonly id: string }>(
  write: (inputs: readonly In[], locking: Locking) => Promise<ReadonlySet<string>>,
): Write<In, true> {
  return async (inputs, locking) => {
    const done = await write(inputs, locking)
    return inputs.map(({ id }) => (done.has(id) ? true : null))
  }
}

async function persist<Out>(
  lease: Lease,
  write: () => Promise<Out | null>,
  readBack: () => Promise<Out | null>,
): Promise<Out | null> {
  let wait = RETRY_MS
  let sentBefore = false
  for (;;) {
    try {
      const written = await write()
      return written === null && sentBefore ? await readBack() : written
    } catch (error) {
      if (!isDatabaseTrouble(error) || lease.isLost) throw error
      sentBefore = true
      // Ended by the lease's end as well; then the next error is thrown.
      await delay(wait, undefined, { signal: lease.signal }).catch(() => {})
      wait = Math.min(wait * 2, LONGEST_RETRY_MS)
    }
  }
}
