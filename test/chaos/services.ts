/**
 * The whole product in chaos: three service processes on one database, a GitLab that fails (500, 429 with Retry-After,
 * connections dropped before and after the request was carried out), services killed, stopped past their lease, terminated,
 * and PostgreSQL restarted under them. Every change that was acknowledged must end merged: one merge request each, one
 * commit each, and nobody writes to GitLab while another process has the lease.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { FaultRuleInput } from '../../sandbox/gitlab/faults/rule.ts'
import { openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createFlowGitLab, type FlowGitLab } from '../support/flow-gitlab.ts'
import { type Arrivals, recordArrivals } from './support/arrivals.ts'
import { logLeases, writesOfOthers } from './support/lease-log.ts'
import { type ChaosPostgres, startChaosPostgres } from './support/postgres.ts'
import { createRandom, type Random } from './support/random.ts'
import {
  createServiceFleet,
  type ServiceFleet,
  type ServiceProcess,
  WEBHOOK_SECRET,
} from './support/service-process.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import { inParallel, numbered, until } from './support/world.ts'

const ITEMS = 300
const FAULTS = 30
/** The short form has each kind of fault at hand, too. */
const FEWEST_FAULTS = 3
const PROCESSES = 3
const LEASE_MS = 3_000
const QUEUE = {
  lease: `${LEASE_MS}ms`,
  backoff_base: '200ms',
  backoff_max: '3s',
  concurrency_per_key: 10,
  // Whoever is killed every second loses many claims, and none of that is the item's doing.
  max_attempts: 50,
  shutdown_grace: '5s',
}
const PATIENCE_MS = 900_000

interface Stage {
  readonly postgres: ChaosPostgres
  readonly side: FlowGitLab
  readonly arrivals: Arrivals
  readonly fleet: ServiceFleet
  readonly services: ServiceProcess[]
  /** Of processes that were asked to end, or ended by themselves. */
  readonly badExits: string[]
}

export async function services({ seed, scale }: ChaosOptions): Promise<Verdict> {
  const changes = Math.ceil(ITEMS * scale)
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-chaos-'))
  const postgres = await startChaosPostgres(directory)
  const side = await createFlowGitLab(directory, { faults: gitlabFaults(seed) })
  const stage: Stage = {
    postgres,
    side,
    arrivals: recordArrivals(side.gitlab),
    fleet: createServiceFleet({ directory, databaseUrl: postgres.url, side, queue: QUEUE, changes }),
    services: [],
    badExits: [],
  }
  try {
    const db = openDatabase({ url: postgres.url })
    await migrate(db)
    await db.destroy()
    await logLeases(postgres)
    for (let place = 0; place < PROCESSES; place += 1) await putInPlace(stage, place)
    return await run(stage, createRandom(seed), changes, Math.max(FEWEST_FAULTS, Math.ceil(FAULTS * scale)))
  } finally {
    await Promise.all(stage.services.map((service) => service.end('SIGKILL')))
    stage.arrivals.end()
    await side.gitlab.close()
    await postgres.remove()
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** An action makes a dozen calls and begins anew when one fails: so few per cent, and more where the answer to a write is lost. */
function gitlabFaults(seed: number): readonly FaultRuleInput[] {
  const path = '/api/**'
  return [
    { path, kind: 'delay', ms: 100, probability: 0.05, seed },
    { path, kind: 'status', status: 500, probability: 0.01, seed: seed + 1 },
    { path, kind: 'status', status: 429, headers: { 'retry-after': '1' }, probability: 0.005, seed: seed + 2 },
    { path, kind: 'drop_before', probability: 0.005, seed: seed + 3 },
    { path, method: 'POST', kind: 'drop_after', probability: 0.1, seed: seed + 4 },
    { path, method: 'PUT', kind: 'drop_after', probability: 0.1, seed: seed + 5 },
  ]
}

async function run(stage: Stage, random: Random, items: number, faults: number): Promise<Verdict> {
  const startedAt = performance.now()
  const branches = numbered(items, 'queue/change')
  const submitting = inParallel(branches, 5, (branch) => submit(stage, random, branch))
  for (let fault = 0; fault < faults; fault += 1) {
    await delay(500 + random.below(1_500))
    await inject(stage, random)
  }
  await submitting
  // Whatever ended otherwise is a problem to be told, and not to be waited for.
  await until(async () => (await countActive(stage)) === 0, PATIENCE_MS)
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  const problems = [...(await judge(stage, branches)), ...stage.badExits]
  return {
    goal: 'services',
    figure: problems.length,
    target: `problems among ${items} changes = 0`,
    ok: problems.length === 0,
    completed: await countCompleted(stage),
    faults_injected: faults,
    gitlab_faults: stage.side.gitlab.faults.list().map(({ kind, fired }) => `${kind}: ${fired}`),
    seconds,
    problems: problems.slice(0, 8),
  }
}

/** Until some process has acknowledged it. */
async function submit({ services }: Stage, random: Random, branch: string): Promise<void> {
  const change = {
    item_type: 'mr',
    project: 'group/widgets',
    source_branch: branch,
    title: `Change ${branch}`,
    file_actions: [{ action: 'upsert', file_path: fileOf(branch), content: `${branch}\n` }],
    auto_merge: true,
    remove_source_branch: true,
  }
  await until(async () => {
    await services[random.below(services.length)]?.client.submit(change)
    return true
  }, PATIENCE_MS)
}

async function inject(stage: Stage, random: Random): Promise<void> {
  const place = random.below(PROCESSES)
  const service = stage.services[place]
  if (service === undefined) return
  if (!service.isAlive()) stage.badExits.push(`${service.name} ended by itself`)
  switch (random.pick(['kill', 'kill', 'pause', 'terminate', 'postgres'])) {
    case 'kill':
      await service.end('SIGKILL')
      await putInPlace(stage, place)
      break
    case 'pause':
      service.signal('SIGSTOP')
      await delay(LEASE_MS * 1.5)
      service.signal('SIGCONT')
      break
    case 'terminate':
      if ((await service.end('SIGTERM')) !== 0) stage.badExits.push(`${service.name} did not end with 0 after SIGTERM`)
      await putInPlace(stage, place)
      break
    case 'postgres':
      await stage.postgres.kill('immediate')
      await stage.postgres.start()
      break
  }
}

/** Starts a service in a place; GitLab's events go to all that are there, so that each arrives more than once. */
async function putInPlace({ fleet, services, side }: Stage, place: number): Promise<void> {
  services[place] = await fleet.start()
  const kinds = { mergeRequestsEvents: true, pipelineEvents: true, jobEvents: true, noteEvents: true, pushEvents: true }
  side.project.hooks = services.map(({ url }, index) => {
    return { id: index + 1, url: `${url}/api/v1/webhooks/gitlab`, token: WEBHOOK_SECRET, ...kinds }
  })
}

async function countActive({ postgres }: Stage): Promise<number> {
  const [row] = await postgres.query("select count(*)::int as n from work_items where phase = 'active'")
  return Number(row?.['n'])
}

async function countCompleted({ postgres }: Stage): Promise<number> {
  const [row] = await postgres.query("select count(*)::int as n from work_items where resolution = 'merged'")
  return Number(row?.['n'])
}

async function judge({ postgres, side, arrivals }: Stage, branches: readonly string[]): Promise<readonly string[]> {
  const problems: string[] = []
  const writes = Map.groupBy(arrivals.list, ({ branch }) => branch)
  const target = await side.clone()
  const files = new Set((await side.git(target, 'ls-tree', '-r', '--name-only', 'HEAD')).split('\n'))
  for (const branch of branches) {
    const ofBranch = writes.get(branch) ?? []
    for (const kind of ['push', 'open', 'merge']) {
      const times = ofBranch.filter((write) => write.kind === kind).length
      if (times !== 1) problems.push(`${branch}: ${kind} ${times} times`)
    }
    if (!files.has(fileOf(branch))) problems.push(`${branch}: not on the target`)
  }
  problems.push(...(await writesOfOthers(postgres, arrivals.list)))
  // First what the items themselves say: it explains the rest.
  const items = await postgres.query(
    "select dedup_key, phase, resolution, last_error->>'message' as error from work_items where resolution is distinct from 'merged'",
  )
  return [
    ...items.map(({ dedup_key, phase, resolution, error }) => [dedup_key, phase, resolution, error].join(' ')),
    ...problems,
  ]
}

function fileOf(branch: string): string {
  return `${branch.replace('queue/', 'changes/')}.txt`
}
