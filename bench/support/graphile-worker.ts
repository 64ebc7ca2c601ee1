/** graphile-worker as a reference, one job at a time for each of its workers, as it comes. */
import { Logger, makeWorkerUtils, run, type WorkerUtils } from 'graphile-worker'
import pg from 'pg'
import { z } from 'zod'
import { type Contender, TEXT } from './contender.ts'

const TASK = 'bench'
/** At most so many jobs in one statement of a backlog. */
const BATCH = 5_000

const logger = new Logger(() => () => {})
const payloadSchema = z.object({ stamp: z.string() })

export const graphileWorker: Contender = {
  name: 'graphile-worker',
  async prepare(url) {
    const utils = await makeWorkerUtils({ connectionString: url, logger })
    await utils.migrate()
    await utils.release()
  },
  async connect(url) {
    const pool = new pg.Pool({ connectionString: url, max: 10 })
    // It asks for both: an error of a connection, idle or in use, would end the process otherwise.
    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    const utils: WorkerUtils = await makeWorkerUtils({ pgPool: pool, logger })
    return {
      clear: async () =>
        void (await pool.query('truncate graphile_worker._private_jobs, graphile_worker._private_job_queues')),
      async fill(count) {
        for (let left = count; left > 0; left -= BATCH) {
          const size = Math.min(BATCH, left)
          await utils.addJobs(Array.from({ length: size }, () => ({ identifier: TASK, payload: payload('') })))
        }
      },
      submit: async (stamp) => void (await utils.addJob(TASK, payload(stamp))),
      async isDrained() {
        const { rowCount } = await pool.query('select from graphile_worker._private_jobs limit 1')
        return rowCount === 0
      },
      async close() {
        await utils.release()
        await pool.end()
      },
    }
  },
  async work(url, { concurrency, jobMs, onJob }) {
    const runner = await run({
      preset: { worker: { connectionString: url, concurrentJobs: concurrency, maxPoolSize: concurrency + 2 } },
      logger,
      noHandleSignals: true,
      taskList: {
        async [TASK](job) {
          onJob(payloadSchema.parse(job).stamp)
          if (jobMs > 0) await new Promise((resolve) => setTimeout(resolve, jobMs))
        },
      },
    })
    return {
      submit: async (stamp) => void (await runner.addJob(TASK, payload(stamp))),
      stop: () => runner.stop(),
    }
  },
}

function payload(stamp: string) {
  return { stamp, text: TEXT }
}
