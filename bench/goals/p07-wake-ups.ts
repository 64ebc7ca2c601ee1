/**
 * P7: what it costs a submitting process to wake others. It is busy, so that every submission is for somebody else, and
 * somebody listens; without wake-ups the same submissions are left to the sweep.
 */
import pg from 'pg'
import { z } from 'zod'
import type { Bench, Goal } from '../support/bench.ts'
import { startProcess } from '../support/process.ts'
import { product, WAKE_CHANNEL } from '../support/product.ts'
import { interleave } from '../support/statistics.ts'

const CONCURRENCY = 10
/** Single rounds of a few thousand commits scatter more than the tenth that is looked for. */
const ROUNDS_PER_ROUND = 2

export const p7: Goal = {
  id: 'P7',
  async run(bench) {
    const rates = await interleave(bench.rounds * ROUNDS_PER_ROUND, {
      on: () => submitRate(bench, true),
      off: () => submitRate(bench, false),
    })
    bench.report({
      part: 'submit with wake-ups',
      unit: '1/s',
      figures: rates.on,
      reference: { name: 'the same without', figures: rates.off },
      target: { atLeast: 0.9 },
    })
  },
}

async function submitRate(bench: Bench, wakeUps: boolean): Promise<number> {
  const count = bench.quick ? 1_000 : 5_000
  const producer = await product.connect(bench.url)
  await producer.clear()
  await producer.close()
  const listener = new pg.Client({ connectionString: bench.url })
  await listener.connect()
  await listener.query(`listen ${WAKE_CHANNEL}`)
  const submitter = await startProcess('submitter', { url: bench.url, wakeUps })
  const submit = (load: number) => submitter.ask('submit', z.number(), { count: load, concurrency: CONCURRENCY })
  try {
    await submit(count / 5)
    return await submit(count)
  } finally {
    await submitter.stop()
    await listener.end()
  }
}
