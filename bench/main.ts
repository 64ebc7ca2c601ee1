/**
 * `npm run bench`: measures the product against its references on one PostgreSQL, in one run, and prints one JSON line for
 * each part of each goal. `docs/benchmarks.md` says what the goals are and how to read the lines.
 */
import { execFile } from 'node:child_process'
import { cpus } from 'node:os'
import { parseArgs, promisify } from 'node:util'
import { messageOf } from '../src/lib/errors.ts'
import { p1 } from './goals/p01-rest-submit.ts'
import { p2 } from './goals/p02-events.ts'
import { p3 } from './goals/p03-drain.ts'
import { p4 } from './goals/p04-pickup.ts'
import { p5 } from './goals/p05-cost.ts'
import { p6 } from './goals/p06-sweep.ts'
import { p7 } from './goals/p07-wake-ups.ts'
import { p8 } from './goals/p08-pinned-xmin.ts'
import { p9 } from './goals/p09-processes.ts'
import { p10 } from './goals/p10-long-run.ts'
import { p11 } from './goals/p11-inspection.ts'
import { p12 } from './goals/p12-lists.ts'
import { p13 } from './goals/p13-memory.ts'
import type { Goal } from './support/bench.ts'
import { findPgbench } from './support/pgbench.ts'
import { prepareProduct } from './support/product.ts'
import { judge } from './support/result.ts'
import { type BenchServer, openServer } from './support/server.ts'

const GOALS: readonly Goal[] = [p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13]
const DEFAULT_ROUNDS = '3'

const run = promisify(execFile)

const { goals, rounds, quick } = readArguments()
const server = await openServer()
process.once('SIGINT', () => void server.close().finally(() => process.exit(130)))
try {
  print({ bench: await describeRun(server) })
  for (const goal of goals) await measure(goal)
} finally {
  await server.close()
}

async function measure(goal: Goal): Promise<void> {
  const database = await server.createDatabase()
  const startedAt = performance.now()
  try {
    await prepareProduct(database.url)
    await goal.run({
      url: database.url,
      rounds,
      quick,
      report: (measurement) => print(judge(goal.id, measurement)),
      skip: (part, reason) => print({ goal: goal.id, part, skipped: reason }),
    })
  } catch (error) {
    print({ goal: goal.id, error: messageOf(error) })
    process.exitCode = 1
  } finally {
    await database.drop()
  }
  process.stderr.write(`${goal.id}: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n`)
}

function readArguments(): { goals: readonly Goal[]; rounds: number; quick: boolean } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { rounds: { type: 'string' }, quick: { type: 'boolean', default: false } },
    })
    const { rounds: text = values.quick ? '1' : DEFAULT_ROUNDS } = values
    if (!/^[1-9]\d?$/.test(text)) throw new Error(`--rounds takes a number of 1 to 99, not ${text}`)
    return {
      goals: positionals.length === 0 ? GOALS : positionals.map(goalNamed),
      rounds: Number(text),
      quick: values.quick,
    }
  } catch (error) {
    process.stderr.write(`bench: ${messageOf(error)}\n`)
    process.exit(2)
  }
}

function goalNamed(name: string): Goal {
  const found = GOALS.find(({ id }) => id.toLowerCase() === name.toLowerCase())
  if (found === undefined)
    throw new Error(`there is no goal ${name}; there are ${GOALS.map(({ id }) => id).join(', ')}`)
  return found
}

async function describeRun(on: BenchServer): Promise<object> {
  const commit = await run('git', ['describe', '--always', '--dirty'], { cwd: import.meta.dirname }).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  )
  return {
    at: new Date().toISOString(),
    commit,
    node: process.version,
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? null,
    pgbench: (await findPgbench()) !== null,
    rounds,
    quick,
    ...(await on.describe()),
  }
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
