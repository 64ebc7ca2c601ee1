/**
 * The outside world of the chaos workers: one file to which every process appends what its executors did, in whole lines
 * (`O_APPEND`). It survives every kill, so that who did what, when and under which lease can be judged afterwards.
 * Instants are of the machine's monotonic clock, which all processes share and no clock shift touches.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

const entrySchema = z.object({
  at: z.number(),
  worker: z.string(),
  /** The work item; each life of an errand is one of its own. */
  id: z.string(),
  /** Name of the errand. */
  item: z.string(),
  epoch: z.number(),
  action: z.string(),
  /** `write` is the outside write; `abort` an executor that saw its signal and stopped before it. */
  what: z.enum(['begin', 'write', 'abort']),
  /** The errand's text, or the variants that were checked. */
  of: z.string(),
})
export type Effect = z.infer<typeof entrySchema>

export function createJournal(file: string): void {
  writeFileSync(file, '')
}

export function appendEffect(file: string, effect: Omit<Effect, 'at'>): void {
  appendFileSync(file, `${JSON.stringify({ at: now(), ...effect })}\n`)
}

export function readEffects(file: string): readonly Effect[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => entrySchema.parse(JSON.parse(line)))
}

/** Milliseconds of the clock that the journal uses. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Writes under a lease that a later claim had already replaced: what fencing and the abort signal must prevent. */
export function writesAfterLostLease(effects: readonly Effect[]): readonly Effect[] {
  const newest = new Map<string, number>()
  return effects.filter(({ id, epoch, what }) => {
    const latest = newest.get(id) ?? 0
    if (epoch > latest) newest.set(id, epoch)
    return what === 'write' && epoch < latest
  })
}
