/**
 * P11: how fast a large submission is inspected with every rule on, and what the process's event loop feels of it. The files hold
 * the source code of this repository, a quarter of them as base64.
 */
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { mrConfigSchema } from '../../src/item-types/mr/config.ts'
import { contentHashOf } from '../../src/item-types/mr/identity.ts'
import { createInspector } from '../../src/item-types/mr/inspection/inspector.ts'
import { type MrSubmission, mrSubmissionSchema } from '../../src/item-types/mr/schema.ts'
import type { Goal } from '../support/bench.ts'

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url))
const PROJECT = 'group/project'
const FILES = 200
const TOTAL_BYTES = 5 * 1_048_576
const MEGABYTE = 1_000_000
const MIN_MEGABYTES_A_SECOND = 25
const MAX_DELAY_MS = 20

export const p11: Goal = {
  id: 'P11',
  async run(bench) {
    const submission = await largeSubmission()
    const inspector = createInspector(mrConfigSchema.parse({ projects: [{ path: PROJECT }] }))
    const [rates, delays]: [number[], number[]] = [[], []]
    try {
      // The first starts the thread.
      await inspect(inspector, submission)
      for (let round = 0; round < bench.rounds; round += 1) {
        const measured = await measure(inspector, submission, bench.quick ? 3 : 30)
        rates.push(measured.rate)
        delays.push(measured.delayMs)
      }
      const extra = { files: FILES, bytes: TOTAL_BYTES }
      bench.report({ part: 'rate', unit: 'MB/s', figures: rates, target: { atLeast: MIN_MEGABYTES_A_SECOND }, extra })
      bench.report({
        part: 'event loop meanwhile, p99',
        unit: 'ms',
        figures: delays,
        target: { atMost: MAX_DELAY_MS },
        extra: { ...extra, content_hash_ms: timeOf(() => contentHashOf(submission)) },
      })
    } finally {
      await inspector.close()
    }
  },
}

type Inspector = ReturnType<typeof createInspector>

async function measure(inspector: Inspector, submission: MrSubmission, times: number) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const startedAt = performance.now()
  for (let done = 0; done < times; done += 1) await inspect(inspector, submission)
  const seconds = (performance.now() - startedAt) / 1_000
  delay.disable()
  return { rate: (times * TOTAL_BYTES) / MEGABYTE / seconds, delayMs: delay.percentile(99) / 1e6 }
}

/** What is refused may have been looked at in part only. */
async function inspect(inspector: Inspector, submission: MrSubmission): Promise<void> {
  const [finding] = await inspector.inspect(submission)
  if (finding !== undefined) throw new Error(`${finding.path}: ${finding.message}`)
}

async function largeSubmission(): Promise<MrSubmission> {
  const source = await sourceText()
  const size = Math.floor(TOTAL_BYTES / FILES)
  const file_actions = Array.from({ length: FILES }, (_, index) => {
    const start = (index * size) % (source.length - size)
    const content = source.subarray(start, start + size)
    const encoding = index % 4 === 0 ? 'base64' : 'text'
    return {
      action: 'upsert',
      file_path: `files/${index}.ts`,
      content: encoding === 'base64' ? content.toString('base64') : content.toString(),
      encoding,
    }
  })
  return mrSubmissionSchema.parse({
    item_type: 'mr',
    project: PROJECT,
    source_branch: 'bench',
    title: 'x',
    file_actions,
  })
}

/** In plain ASCII, so that it may be cut anywhere. */
async function sourceText(): Promise<Buffer> {
  const texts: string[] = []
  for await (const file of glob('**/*.ts', { cwd: SOURCE })) {
    if (!file.endsWith('.test.ts')) texts.push(await readFile(join(SOURCE, file), 'utf8'))
  }
  return Buffer.from(texts.join('\n').replaceAll(/\P{ASCII}/gu, '?'))
}

function timeOf(work: () => unknown): number {
  const startedAt = performance.now()
  work()
  return Math.round(performance.now() - startedAt)
}
