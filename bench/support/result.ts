/**
 * One result, as the benchmark prints it: what was measured, what it is measured against, and whether the goal holds. With a
 * reference the goal is about the ratio of the two medians, which a slow machine changes little; without one it is about the
 * figure itself.
 */
import { median, rounded } from './statistics.ts'

export type Target = { readonly atLeast: number } | { readonly atMost: number }

export interface Measurement {
  readonly part: string
  readonly unit: string
  /** One value a round. */
  readonly figures: readonly number[]
  readonly reference?: { readonly name: string; readonly figures: readonly number[] }
  readonly target: Target
  /** Facts for readers: other figures of the same run, a stretch goal. */
  readonly extra?: Readonly<Record<string, unknown>>
}

export interface Result {
  readonly goal: string
  readonly part: string
  readonly unit: string
  readonly figure: number
  readonly reference: number | null
  readonly reference_name: string | null
  readonly ratio: number | null
  readonly target: string
  readonly ok: boolean
  readonly [extra: string]: unknown
}

export function judge(goal: string, measurement: Measurement): Result {
  const { part, unit, figures, reference, target, extra } = measurement
  const figure = median(figures)
  const against = reference === undefined ? null : median(reference.figures)
  const ratio = against === null ? null : figure / against
  return {
    goal,
    part,
    unit,
    figure: rounded(figure),
    reference: against === null ? null : rounded(against),
    reference_name: reference?.name ?? null,
    ratio: ratio === null ? null : rounded(ratio),
    target: describeTarget(target),
    ok: holds(rounded(ratio ?? figure), target),
    rounds: figures.length,
    ...extra,
  }
}

/** A goal to strive for beside the one that must hold. */
export function stretch(figures: readonly number[], reference: Measurement['reference'] & object, target: Target) {
  const ratio = rounded(median(figures) / median(reference.figures))
  return {
    reference_name: reference.name,
    reference: rounded(median(reference.figures)),
    ratio,
    target: describeTarget(target),
    reached: holds(ratio, target),
  }
}

function holds(value: number, target: Target): boolean {
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost
}

function describeTarget(target: Target): string {
  return 'atLeast' in target ? `>= ${target.atLeast}` : `<= ${target.atMost}`
}
