/**
 * One item type `mr` against a real database and the sandbox GitLab, worked on one claim at a time, so that a test sees
 * every step. GitLab's clock and the items' wake-ups move only when the test says so; calls to GitLab can be made to fail
 * in the three ways that matter: refused, done with the answer lost, and stopped before they began.
 */
import type { NewProject } from '../../sandbox/gitlab/projects.ts'
import { startTestServer, type TestServer } from '../../sandbox/gitlab/test-server.ts'
import { createGitLab } from '../../src/gitlab/create-gitlab.ts'
import { GitLabError } from '../../src/gitlab/errors.ts'
import type { GitLab } from '../../src/gitlab/port.ts'
import { mrConfigSchema } from '../../src/item-types/mr/config.ts'
import type { MrDetail } from '../../src/item-types/mr/detail.ts'
import { createMrItemType } from '../../src/item-types/mr/index.ts'
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
import { createRecordedAudit } from './recorded-audit.ts'
import { claimItem } from './statements.ts'

export type GitLabMethod = keyof GitLab

export interface MrWorld {
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
  /** The next call of this method fails with this error, and does nothing. */
  refuse(method: GitLabMethod, error: Error): void
  /** The next call of this method is made, but its answer never arrives. */
  loseAnswer(method: GitLabMethod): void
  /** Before the next call of this method the process stops: no call of that run may reach GitLab. */
  stopBefore(method: GitLabMethod): void
  /** The next call of this method answers this instead of GitLab. */
  answer(method: GitLabMethod, value: unknown): void
  remove(): Promise<void>
}

const BOT = 'maintainer'
const MAX_ROUNDS = 60

export interface MrWorldOptions {
  /** What the project holds at the start. */
  readonly files?: NonNullable<NewProject['files']>
  /** On top of the project in the `mr` slice of the configuration. */
  readonly project?: Readonly<Record<string, unknown>>
}

export async function createMrWorld({ files, project = {} }: MrWorldOptions = {}): Promise<MrWorld> {
  const database = await createTestDatabase()
  const server = await startTestServer({ ...(files === undefined ? {} : { files }) })
  const real = createGitLab({ url: server.url, token: `token-of-${BOT}`, timeoutMs: 10_000 })
  const faults = createFaults(real)
  const mrConfig = mrConfigSchema.parse({
    projects: [{ path: server.project.pathWithNamespace, ...project }],
  })
  const type = createMrItemType({ db: database.db, gitlab: faults.gitlab, config: mrConfig })
  const itemTypes = new Map<string, AnyItemType>([['mr', type]])
  const audit = createRecordedAudit()
  const config = queueConfigSchema.parse({ lease: '5m' })
  const parts = { db: database.db, itemTypes, config, audit, log: silentLog, random: () => 0.5 }
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
    refuse: faults.refuse,
    loseAnswer: faults.loseAnswer,
    stopBefore: faults.stopBefore,
    answer: faults.answer,
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
      return (await queue.submit('mr', body, 'tester')).item.id
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

type Fault =
  | { readonly kind: 'refuse'; readonly error: Error }
  | { readonly kind: 'lose' | 'stop' }
  | { readonly kind: 'answer'; readonly value: unknown }

function createFaults(real: GitLab) {
  const planned = new Map<GitLabMethod, Fault>()
  const calls: GitLabMethod[] = []
  let stopping = new AbortController()

  async function call(method: GitLabMethod, args: unknown[]): Promise<unknown> {
    const fault = planned.get(method)
    planned.delete(method)
    if (fault?.kind === 'refuse') throw fault.error
    if (fault?.kind === 'answer') return fault.value
    if (fault?.kind === 'stop') stopping.abort()
    calls.push(method)
    const answer = await (real[method] as (...given: unknown[]) => Promise<unknown>)(...args)
    if (fault?.kind !== 'lose') return answer
    throw new GitLabError('gitlab_timeout', 'GitLab did not answer in time', { failure: 'transient' })
  }

  return {
    calls,
    gitlab: new Proxy(real, {
      get:
        (_target, method: GitLabMethod) =>
        (...args: unknown[]) =>
          call(method, args),
    }),
    refuse: (method: GitLabMethod, error: Error) => void planned.set(method, { kind: 'refuse', error }),
    loseAnswer: (method: GitLabMethod) => void planned.set(method, { kind: 'lose' }),
    stopBefore: (method: GitLabMethod) => void planned.set(method, { kind: 'stop' }),
    answer: (method: GitLabMethod, value: unknown) => void planned.set(method, { kind: 'answer', value }),
    nextSignal() {
      if (stopping.signal.aborted) stopping = new AbortController()
      return stopping.signal
    },
  }
}
