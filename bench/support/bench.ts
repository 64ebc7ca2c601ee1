/** What every goal is handed, and what it must be. */
import type { Measurement } from './result.ts'

export interface Bench {
  /** A migrated database of this goal's own, with the tables of the bench item type. */
  readonly url: string
  readonly rounds: number
  /** Small sizes: shows that everything runs, says little about speed. */
  readonly quick: boolean
  report(measurement: Measurement): void
  /** Says what could not be measured, and why. */
  skip(part: string, reason: string): void
}

export interface Goal {
  readonly id: string
  run(bench: Bench): Promise<void>
}
