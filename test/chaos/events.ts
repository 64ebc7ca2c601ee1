/**
 * The way of events in chaos: GitLab's webhooks go over SNS and SQS to two real services. In three acts: the way repeats,
 * delays, reorders and loses events while services are killed, and every change still ends merged, by one merge request with
 * one commit; services are killed under a stream of events, and every event that was published is stored; and the way is cut,
 * and every change still ends merged, only later. How much later is measured.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type EventStream, startEventStream } from '../../sandbox/events/event-stream.ts'
import { openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createFlowGitLab, type FlowGitLab } from '../support/flow-gitlab.ts'
import { type Arrivals, recordArrivals } from './support/arrivals.ts'
import { type ChaosPostgres, startChaosPostgres } from './support/postgres.ts'
import { createRandom, type Random } from './support/random.ts'
import { createServiceFleet, type ServiceFleet, type ServiceProcess } from './support/service-process.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import { inParallel, numbered, until } from './support/world.ts'

const CHANGES = 200
const MEASURED = 20
const FEWEST_MEASURED = 2
/** For so many changes a service waits for 30 seconds between two looks at a pipeline; at least for 5. */
const CHANGES_TO_WAIT_FOR = 600
const FEWEST_CHANGES_TO_WAIT_FOR = 100
const KILLS = 15
/** The short form has one, too. */
const FEWEST_KILLS = 1
const FAULTS = { duplicate: 0.3, drop: 0.1, delayMs: 3_000 }
const PROCESSES = 2
const QUEUE = {
  ...{ lease: '3s', backoff_base: '200ms', backoff_max: '3s' },
  // Whoever is killed at each of five claims in a row is taken for one that ends its process; here it is chance.
  ...{ concurrency_per_key: 10, shutdown_grace: '5s', max_attempts: 50 },
}
const OPEN_CHANGES = 10
const EVENTS_AT_ONCE = 20
const FEWEST_EVENTS_AT_ONCE = 2
const PAUSE_MS = 50
const SHORTEST_LIFE_MS = 1_500
const PATIENCE_MS = 600_000
/** Four seconds here: longer than it takes GitLab to find out whether it can be merged. */
const SLOW_CI = 'stages: [test]\njobs:\n  unit: { stage: test, seconds: 80 }\n'
const ACTIVE = "phase = 'active' and dedup_key like '%:queue/%'"

interface Stage {
  readonly postgres: ChaosPostgres
  readonly side: FlowGitLab
  readonly stream: EventStream
  readonly arrivals: Arrivals
  readonly fleet: ServiceFleet
  readonly services: ServiceProcess[]
  readonly random: Random
}

export async function events({ seed, scale }: ChaosOptions): Promise<Verdict> {
  const random = createRandom(seed)
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-chaos-'))
  const postgres = await startChaosPostgres(directory)
  const side = await createFlowGitLab(directory, {})
  const stream = await startEventStream({ random: random.next, maxReceives: 1_000 })
  const parts = { directory, databaseUrl: postgres.url, side, queue: QUEUE, events: stream }
  const stage: Stage = {
    ...{ postgres, side, stream, random, arrivals: recordArrivals(side.gitlab), services: [] },
    fleet: createServiceFleet({ ...parts, changes: Math.ceil(CHANGES * scale) }),
  }
  try {
    const db = openDatabase({ url: postgres.url })
    await migrate(db)
    await db.destroy()
    await logEvents(postgres)
    await startAll(stage)
    // As patient as in production, or almost: what events are good for shows in nothing else.
    const patient = createServiceFleet({
      ...{ ...parts, name: 'patient' },
      changes: Math.max(FEWEST_CHANGES_TO_WAIT_FOR, CHANGES_TO_WAIT_FOR * scale),
    })
    return await run(stage, { ...stage, fleet: patient }, scale)
  } finally {
    await Promise.all(stage.services.map((service) => service.end('SIGKILL')))
    stage.arrivals.end()
    await side.gitlab.close()
    await stream.stop()
    await postgres.remove()
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function run(stage: Stage, patient: Stage, scale: number): Promise<Verdict> {
  const { stream } = stage
  const startedAt = performance.now()
  const kills = Math.max(FEWEST_KILLS, Math.ceil(KILLS * scale))
  connect(stage, true)

  stream.setFaults(FAULTS)
  const carried = { ...stream.sent }
  const problems = await mergeAll(stage, numbered(Math.ceil(CHANGES * scale), 'queue/bad-way'), kills)
  for (const key of ['taken', 'dropped', 'published'] as const) carried[key] = stream.sent[key] - carried[key]
  stream.setFaults({})

  const poured = await pour(stage, kills, Math.max(FEWEST_EVENTS_AT_ONCE, Math.ceil(EVENTS_AT_ONCE * scale)))

  await Promise.all(stage.services.map((service) => service.end('SIGTERM')))
  await startAll(patient)
  await stage.side.pushAsPerson({ '.sandbox-ci.yml': SLOW_CI })
  const measured = Math.max(FEWEST_MEASURED, Math.ceil(MEASURED * scale))
  problems.push(...(await mergeAll(patient, numbered(measured, 'queue/with-events'), 0)))
  const withEvents = await secondsOf(stage, 'queue/with-events')
  connect(stage, false)
  problems.push(...(await mergeAll(patient, numbered(measured, 'queue/cut-off'), 0)))
  const without = await secondsOf(stage, 'queue/cut-off')
  problems.push(...poured.missing.map((id) => `the event ${id} was published and never stored`))
  return {
    goal: 'events',
    figure: problems.length,
    target: `changes that did not end merged by one commit, and events lost, of ${poured.published} = 0`,
    ok: problems.length === 0 && poured.published > 0,
    kills: 2 * kills,
    bad_way: carried,
    seconds_with_events: withEvents,
    seconds_without: without,
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    problems: problems.slice(0, 8),
  }
}

async function startAll({ services, fleet }: Stage): Promise<void> {
  for (let place = 0; place < PROCESSES; place += 1) services[place] = await fleet.start()
}

/** Whether GitLab's events go on their way at all. */
function connect({ side, stream }: Stage, on: boolean): void {
  const kinds = { mergeRequestsEvents: true, pipelineEvents: true, jobEvents: true, noteEvents: true, pushEvents: true }
  side.project.hooks = on ? [{ id: 1, url: stream.hookUrl, token: null, ...kinds }] : []
}

/** Submits the changes, kills services meanwhile, waits for the end of all, and answers what is wrong with it. */
async function mergeAll(stage: Stage, branches: readonly string[], kills: number): Promise<string[]> {
  const submitting = inParallel(branches, 5, (branch) => submit(stage, branch, true))
  for (let kill = 0; kill < kills; kill += 1) await killOne(stage)
  await submitting
  const ended = await until(async () => (await count(stage, ACTIVE)) === 0, PATIENCE_MS)
  if (!ended) throw new Error(`${await count(stage, ACTIVE)} changes are still on their way`)
  return judge(stage, branches)
}

async function submit({ services, random }: Stage, branch: string, autoMerge: boolean): Promise<void> {
  const change = {
    item_type: 'mr',
    project: 'group/widgets',
    source_branch: branch,
    title: `Change ${branch}`,
    file_actions: [{ action: 'upsert', file_path: `${branch.replaceAll('/', '-')}.txt`, content: `${branch}\n` }],
    auto_merge: autoMerge,
  }
  await until(async () => {
    await services[random.below(services.length)]?.client.submit(change)
    return true
  }, PATIENCE_MS)
}

async function killOne({ services, fleet, random }: Stage): Promise<void> {
  await delay(SHORTEST_LIFE_MS + random.below(SHORTEST_LIFE_MS))
  const place = random.below(PROCESSES)
  await services[place]?.end('SIGKILL')
  services[place] = await fleet.start()
}

async function judge({ postgres, arrivals }: Stage, branches: readonly string[]): Promise<string[]> {
  const writes = Map.groupBy(arrivals.list, ({ branch }) => branch)
  const problems = branches.flatMap((branch) =>
    ['push', 'open', 'merge'].flatMap((kind) => {
      const times = writes.get(branch)?.filter((write) => write.kind === kind).length ?? 0
      return times === 1 ? [] : [`${branch}: ${kind} ${times} times`]
    }),
  )
  const items = await postgres.query(
    `select dedup_key, phase, resolution, last_error->>'message' as error
     from work_items
     where dedup_key like '%:queue/%' and resolution is distinct from 'merged'`,
  )
  return [...items.map((item) => Object.values(item).join(' ')), ...problems]
}

/** A stream of events for changes that stay open, each with a number of its own, while services are killed. */
async function pour(
  stage: Stage,
  kills: number,
  atOnce: number,
): Promise<{ readonly published: number; readonly missing: readonly number[] }> {
  const { stream, side, postgres } = stage
  const branches = numbered(OPEN_CHANGES, 'open/change')
  for (const branch of branches) await submit(stage, branch, false)
  await until(async () => (await count(stage, "not actionable and dedup_key like '%:open/%'")) === OPEN_CHANGES)
  const rows = await postgres.query("select mr_iid::int as iid from mr_details where source_branch like 'open/%'")
  const load = { on: true }
  const pouring = (async () => {
    let published = 0
    for (; load.on; await delay(PAUSE_MS)) {
      for (let place = 0; place < atOnce; place += 1) {
        published += 1
        stream.publish(noteBody(side.project.id, Number(rows[published % rows.length]?.['iid']), published))
      }
    }
    return published
  })()
  for (let kill = 0; kill < kills; kill += 1) await killOne(stage)
  load.on = false
  const published = await pouring
  await until(() => {
    const { ready, inFlight } = stream.depth()
    return ready + inFlight === 0
  }, PATIENCE_MS)
  const stored = new Set((await postgres.query('select number from event_log')).map((row) => Number(row['number'])))
  const numbers = Array.from({ length: published }, (_, index) => index + 1)
  return { published, missing: numbers.filter((number) => !stored.has(number)) }
}

function noteBody(projectId: number, iid: number, number: number): string {
  return JSON.stringify({
    object_kind: 'note',
    project: { id: projectId },
    merge_request: { iid, source_project_id: projectId, target_project_id: projectId },
    object_attributes: { poured: number },
  })
}

/** By the database's own account: an event that is applied leaves no trace in its table. */
async function logEvents(postgres: ChaosPostgres): Promise<void> {
  await postgres.query(`
    create table event_log (number int);
    create function log_event() returns trigger language plpgsql as $$
    begin
      insert into event_log values ((new.body->'object_attributes'->>'poured')::int);
      return null;
    end $$;
    create trigger log_event after insert on pending_events for each row execute function log_event();`)
}

/** From the submission to the end, by the database's clock. */
async function secondsOf({ postgres }: Stage, prefix: string): Promise<{ readonly p50: number; readonly p95: number }> {
  const [row] = await postgres.query(
    `select percentile_cont(0.5) within group (order by seconds) as p50,
            percentile_cont(0.95) within group (order by seconds) as p95
     from (
       select extract(epoch from ended_at - created_at)::float8 as seconds
       from work_items
       where dedup_key like '%:' || $1 || '%'
     ) items`,
    [prefix],
  )
  return { p50: rounded(row?.['p50']), p95: rounded(row?.['p95']) }
}

function rounded(value: unknown): number {
  return Math.round(Number(value) * 10) / 10
}

async function count({ postgres }: Stage, condition: string): Promise<number> {
  const [row] = await postgres.query(`select count(*)::int as n from work_items where ${condition}`)
  return Number(row?.['n'])
}
