/** pg-boss as a reference, tuned for a backlog: hundreds of jobs in one claim, and one statement that completes them. */
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { type Contender, TEXT } from './contender.ts'

const QUEUE = 'bench'
const BATCH = 500

interface Payload {
  readonly stamp: string
  readonly text: string
}

export const pgBoss: Contender = {
  name: 'pg-boss',
  async prepare(url) {
    const boss = await startBoss(url, false)
    await boss.createQueue(QUEUE, { notify: true })
    await boss.stop({ graceful: false, close: true })
  },
  async connect(url) {
    const pool = new pg.Pool({ connectionString: url, max: 4 })
    pool.on('error', () => {})
    const boss = await startBoss(url, false)
    return {
      clear: async () => void (await boss.deleteAllJobs(QUEUE)),
      async fill(count) {
        await boss.insert(
          QUEUE,
          Array.from({ length: count }, () => ({ data: payload('') })),
        )
      },
      submit: async (stamp) => void (await boss.send(QUEUE, payload(stamp))),
      async isDrained() {
        const { rowCount } = await pool.query(
          `select from pgboss.job where name = $1 and state < 'completed' limit 1`,
          [QUEUE],
        )
        return rowCount === 0
      },
      async close() {
        await boss.stop({ graceful: false, close: true })
        await pool.end()
      },
    }
  },
  async work(url, { concurrency, jobMs, onJob }) {
    const boss = await startBoss(url, true)
    await boss.work<Payload>(
      QUEUE,
      {
        batchSize: BATCH,
        localConcurrency: Math.max(1, Math.round(concurrency / 5)),
        burstWhenBatchFull: true,
        pollingIntervalSeconds: 0.5,
        notifyPollingIntervalSeconds: 0.5,
      },
      async (jobs) => {
        for (const job of jobs) {
          onJob(job.data.stamp)
          if (jobMs > 0) await new Promise((resolve) => setTimeout(resolve, jobMs))
        }
      },
    )
    return {
      submit: async (stamp) => void (await boss.send(QUEUE, payload(stamp))),
      stop: () => boss.stop({ graceful: true, close: true, timeout: 5_000 }),
    }
  },
}

async function startBoss(url: string, supervise: boolean): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, max: 20, useListenNotify: true, supervise, schedule: false })
  // Without a listener an error that it gets over by itself would end the process.
  boss.on('error', () => {})
  await boss.start()
  return boss
}

function payload(stamp: string): Payload {
  return { stamp, text: TEXT }
}
