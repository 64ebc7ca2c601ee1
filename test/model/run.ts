/** `node test/model/run.ts --runs 2000 --seed 7 [--bug NAME]`: a long run of the model, over a PostgreSQL of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/db/database.ts'
import { startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { checkModel } from './check.ts'
import { createModelDatabase } from './model-database.ts'
import { BUG_NAMES, plant } from './planted-bugs.ts'
import { REFUSED } from './world.ts'

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '2000' }, seed: { type: 'string' }, bug: { type: 'string' } },
})
const runs = Number(values.runs)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const named = BUG_NAMES.filter((name) => values.bug === 'all' || values.bug === name)
if (values.bug !== undefined && named.length === 0) throw new Error(`there is no planted bug "${values.bug}"`)
const bugs = named.length > 0 ? named : [null]

const directory = await mkdtemp(join(tmpdir(), 'workqueue-model-'))
const server = await startEmbeddedPostgres({ dataDir: join(directory, 'postgres'), durable: false })
const db = openDatabase({ url: server.url })
await migrate(db)
const { pool } = await createModelDatabase(server.url, db)
try {
  for (const bug of bugs) {
    const startedAt = performance.now()
    const planted = plant(bug)
    const result = await checkModel({ db, pool, runs, seed, shrinks: bug === null, rewrite: planted.rewrite })
    const { report, ...figures } = { ...result, isRefused: result.report.includes(REFUSED) }
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10
    process.stdout.write(`${JSON.stringify({ bug, seed, ...figures, seconds, rewritten: planted.count() })}\n`)
    if (bugs.length === 1) process.stdout.write(report)
    if (result.failed !== (bug !== null)) process.exitCode = 1
  }
} finally {
  await pool.end()
  await db.destroy()
  await server.remove()
  await rm(directory, { recursive: true, force: true })
}
// A process that was made to sweep again and again leaves a timer behind for each time.
process.exit()
