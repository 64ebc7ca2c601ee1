/**
 * One item type `mr` against a real database and the sandbox GitLab, worked on one claim at a time, so that a test sees
 * every step. GitLab's clock and the items' wake-ups move only when the test says so; calls to GitLab go wrong on demand
 * (gitlab-faults.ts).
 */
import type { NewProject } from '../../sandbox/gitlab/projects.ts'
import { startTestServer, type TestServer } from '../../sandbox/gitlab/test-server.ts'
import { createGitLab } from '../../src/gitlab/create-gitlab.ts'
import type { GitLab } from '../../src/gitlab/port.ts'
import { mrConfigSchema } from '../../src/item-types/mr/config.ts'
import type { MrDetail } from '../../src/item-types/mr/detail.ts'
import { createMrItemType } from '../../src/item-types/mr/index.ts'
import { createEventCounts } from '../../src/lib/event-counts.ts'
import { silentLog } from '../../src/lib/log.ts'
import { queueConfigSchema } from '../../src/queue/config.ts'
import { createQueue } from '../../src/queue/create-queue.ts'
import type { AnyItemType, Snapshot } from '../../src/queue/item-type.ts'
import { createLeaseKeeper } from '../../src/queue/lease.ts'
import { createOutcomes } from '../../src/queue/outcomes.ts'
import { processWorkItem } from '../../src/queue/processing-loop.ts'
import { createReadObservations } from '../../src/queue/sql/read-observations.ts'
import type { WorkQueue } from '../../src/queue/work-queue.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { createFaultyGitLab, type FaultPlans, type GitLabMethod } from './gitlab-faults.ts'
import { createRecordedAudit } from './recorded-audit.ts'
import { claimItem } from './statements.ts'

export interface MrWorld extends FaultPlans {
  readonly server: TestServer
  readonly database: TestDatabase
  readonly queue: WorkQueue
  /** The port as the executors have it. */
  readonly gitlab: GitLab
  /** Names of all calls so far, in order. */
  readonly calls: readonly GitLabMethod[]
  /** Submits a change of one new file, with whatever is given on top; answers the item's id. */
  submit(given?: Readonly<Record<string, unknown>>): Promise<string>
  /** Claims the item and works until it rests, waits or ends. */
  work(id: string): Promise<void>
  /** Lets GitLab's time pass, makes everything that the item put off due, and works. */
  later(id: string, ms?: number): Promise<void>
  /** `later` until the item is terminal; gives up after a while, so that a test fails instead of hanging. */
  workToTheEnd(id: string): Promise<void>
  look(id: string): Promise<Snapshot<MrDetail>>
  /** The item's merge request, as GitLab's API shows it. */
  mergeRequestOf(id: string): Promise<Record<string, unknown>>
  /** The commit at the head of a branch, as GitLab's API shows it; null when there is no such branch. */
  headOf(branch: string): Promise<Record<string, unknown> | null>
  /** The bytes of a file on a branch; null when there is none. */
  contentOf(branch: string, path: string): Promise<Buffer | null>
  remove(): Promise<void>
}

const BOT = 'maintainer'
const MAX_ROUNDS = 60

export interface MrWorldOptions {
  /** What the project holds at the start. */
  readonly files?: NonNullable<NewProject['files']>
  /** On top of the project in the `mr` slice of the configuration. */
  readonly project?: Readonly<Record<string, unknown>>
  /** The rest of the slice. */
  readonly mr?: Readonly<Record<string, unknown>>
}

/** What GitLab holds, asked past the service. */
function createViews(server: TestServer, look: MrWorld['look']) {
  return {
    async mergeRequestOf(id: string) {
      const { detail } = await look(id)
      return (await server.call('GET', `/merge_requests/${detail.mrIid}`)).json
    },
    async headOf(branch: string) {
      const answer = await server.call('GET', `/repository/branches/${encodeURIComponent(branch)}`)
      return answer.status === 200 ? (answer.json['commit'] as Record<string, unknown>) : null
    },
    async contentOf(branch: string, path: string) {
      const query = `raw?ref=${encodeURIComponent(branch)}`
      const answer = await server.call('GET', `/repository/files/${encodeURIComponent(path)}/${query}`)
      return answer.status === 200 ? answer.bytes : null
    },
  }
}

export async function createMrWorld({ files, project = {}, mr = {} }: MrWorldOptions = {}): Promise<MrWorld> {
  const database = await createTestDatabase()
  const server = await startTestServer({ ...(files === undefined ? {} : { files }) })
  const real = createGitLab({ url: server.url, token: `token-of-${BOT}`, timeoutMs: 10_000 })
  const faults = createFaultyGitLab(real)
  const mrConfig = mrConfigSchema.parse({
    projects: [{ path: server.project.pathWithNamespace, ...project }],
    ...mr,
  })
  const type = createMrItemType({ db: database.db, gitlab: faults.gitlab, config: mrConfig })
  const itemTypes = new Map<string, AnyItemType>([['mr', type]])
  const audit = createRecordedAudit()
  const config = queueConfigSchema.parse({ lease: '5m' })
  const counts = createEventCounts()
  const parts = { db: database.db, itemTypes, config, audit, log: silentLog, random: () => 0.5, counts }
  const { work: queue } = createQueue({ ...parts, listenUrl: null })
  const leases = createLeaseKeeper({
    extend: async (held) => held.map(() => 'extended'),
    leaseMs: config.lease,
    log: silentLog,
  })

  async function work(id: string): Promise<void> {
    faults.nextSignal().addEventListener('abort', () => leases.loseAll(), { once: true })
    const claimed = await claimItem(database.db, type as unknown as AnyItemType, id, { leaseMs: config.lease })
    if (claimed === null) return
    await processWorkItem(
      {
        ...parts,
        outcomes: createOutcomes(database.db, itemTypes),
        read: createReadObservations(database.db, itemTypes),
        inWorker: (run) => run(),
        findPause: () => null,
        isStopping: () => false,
      },
      leases.hold(id, claimed.epoch, performance.now()),
      claimed,
    )
  }

  async function later(id: string, ms = 1_000): Promise<void> {
    await server.pass(ms)
    await database.db
      .updateTable('work_item_statuses')
      .set({ pending_until: null })
      .where('work_item_id', '=', id)
      .execute()
    await database.db
      .updateTable('work_items')
      .set({ retry_at: null, leased_until: null })
      .where('id', '=', id)
      .execute()
    await work(id)
  }

  const look = async (id: string) => (await queue.get(id)).snapshot as Snapshot<MrDetail>

  return {
    server,
    database,
    queue,
    gitlab: faults.gitlab,
    calls: faults.calls,
    ...faults.plans,
    ...createViews(server, look),
    work,
    later,
    look,
    async submit(given = {}) {
      const body = {
        item_type: 'mr',
        project: server.project.pathWithNamespace,
        source_branch: 'bot/change',
        title: 'Add a note',
        file_actions: [{ action: 'create', file_path: 'docs/note.md', content: 'A note.\n' }],
        ...given,
      }
      return (await queue.submit('mr', body, 'tester', { require: () => {}, holds: () => true })).item.id
    },
    async workToTheEnd(id) {
      await work(id)
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        if ((await look(id)).item.phase !== 'active') return
        await later(id)
      }
      throw new Error(`the item is still active: ${JSON.stringify((await look(id)).detail)}`)
    },
    async remove() {
      leases.stop()
      await server.remove()
      await database.drop()
    },
  }
}
