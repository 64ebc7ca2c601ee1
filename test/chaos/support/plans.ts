/**
 * What a caller does with one errand, step by step, drawn from a seed; and the sequential model: where the errand ends when
 * each step has its effect before the next one comes. Only steps whose end does not depend on who was faster are drawn.
 */
import { errandText } from './chaos-errand.ts'
import type { Random } from './random.ts'

export type Step =
  | { readonly kind: 'submit'; readonly text: string }
  | { readonly kind: 'event'; readonly id: string; readonly ageMs: number; readonly twice: boolean }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'retry' }

export interface Plan {
  readonly name: string
  readonly steps: readonly Step[]
}

export interface End {
  readonly phase: 'active' | 'completed' | 'failed' | 'cancelled'
  /** The text that was carried out last, where that is certain. */
  readonly doneText: string | null
  /** Events that must have been applied: those that came when nothing could end the errand any more. */
  readonly events: readonly string[]
}

const HOUR_MS = 3_600_000

export function drawPlan(random: Random, name: string): Plan {
  const text = (mode: Parameters<typeof errandText>[0], index: number) =>
    errandText(mode, random.below(150), `${name} ${index}`)
  const steps: Step[] = [{ kind: 'submit', text: text('wait', 0) }]
  const length = 4 + random.below(6)
  for (let index = 1; index < length; index += 1) {
    const kind = random.pick(['submit', 'submit', 'event', 'event', 'event', 'retry', 'cancel'])
    if (kind === 'submit') steps.push({ kind, text: text('wait', index) })
    else if (kind === 'event') steps.push(drawEvent(random, `${name} event ${index}`))
    // A cancelled errand comes back by a retry or a submission: the next step, so that every kind of life goes on.
    else if (kind === 'cancel')
      steps.push({ kind }, random.pick([{ kind: 'retry' }, { kind: 'submit', text: text('wait', index) }]))
    else steps.push({ kind })
  }
  const last = random.pick(['wait', 'wait', 'finish', 'throw', 'cancel'])
  if (last === 'cancel') steps.push({ kind: last })
  else steps.push({ kind: 'submit', text: text(last, 99) })
  if (last === 'wait') steps.push(drawEvent(random, `${name} event last`))
  return { name, steps }
}

/** Late by up to an hour, or dated up to twenty minutes ahead; delivered once or twice. */
function drawEvent(random: Random, id: string): Step {
  return { kind: 'event', id, ageMs: random.below(HOUR_MS * (4 / 3)) - HOUR_MS / 3, twice: random.below(3) === 0 }
}

export function endOf({ steps }: Plan): End {
  return steps.reduce<End>(after, { phase: 'active', doneText: null, events: [] })
}

function after(before: End, step: Step): End {
  if (step.kind === 'cancel') return { ...before, phase: 'cancelled', events: [] }
  if (step.kind === 'retry') return { ...before, phase: 'active' }
  if (step.kind === 'event') return { ...before, events: [...before.events, step.id] }
  const { text } = step
  if (text.startsWith('throw')) return { ...before, phase: 'failed', events: [] }
  if (text.startsWith('finish')) return { phase: 'completed', doneText: text, events: [] }
  return { ...before, phase: 'active', doneText: text }
}
