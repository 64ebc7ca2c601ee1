/** What a chaos script answers: its figure against its target. `npm run chaos` prints it as one JSON line. */
export interface Verdict {
  readonly goal: string
  readonly figure: number | string
  readonly target: string
  readonly ok: boolean
  /** Whatever helps to understand the figure. */
  readonly [detail: string]: unknown
}

export interface ChaosOptions {
  /** Decides every random choice; printed, so that a run can be repeated. */
  readonly seed: number
  /** How long or how often, as a factor of the script's own measure. */
  readonly scale: number
}
