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
  /** Of a write: when its executor last made sure of its lease, right before it. Null: it did not, or is no write. */
  sureAt: z.number().nullable(),
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

export interface LateWrites {
  /** Begun when a later claim was at work already: what fencing and the signal must prevent. */
  readonly begun: readonly Effect[]
  /** Begun under the lease; the process was stopped between its last look and the write. Nothing on its side can prevent that. */
  readonly landed: readonly Effect[]
}

/** Writes that came behind what a later claim of the same item did. */
export function writesAfterLostLease(effects: readonly Effect[]): LateWrites {
  const newest = new Map<string, { readonly epoch: number; readonly at: number }>()
  const late: LateWrites & { begun: Effect[]; landed: Effect[] } = { begun: [], landed: [] }
  for (const effect of effects) {
    const { id, epoch, at, what, sureAt } = effect
    const latest = newest.get(id)
    if (latest === undefined || epoch > latest.epoch) newest.set(id, { epoch, at })
    else if (what === 'write' && epoch < latest.epoch) {
      const wasSure = sureAt !== null && sureAt < latest.at
      late[wasSure ? 'landed' : 'begun'].push(effect)
    }
  }
  return late
}
