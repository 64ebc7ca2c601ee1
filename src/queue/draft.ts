/**
 * The draft an executor works on: what it read, and what it wants to be true afterwards. Nothing is written until the
 * executor has succeeded; then the processing loop persists the whole draft in one transaction, conditional on the lease
 * epoch (decision 0015).
 */
import type { Dimension, DimensionStatus } from './dimension.ts'
import type { Phase, WorkItem } from './work-item.ts'

export interface DimensionDraft {
  readonly dimension: string
  readonly variant: string
  readonly status: DimensionStatus
  /** Put off for this long, counted by the database's clock from the commit; null = not put off. */
  readonly deferMs: number | null
  readonly note: string | null
}

export class Draft<Detail> {
  readonly item: WorkItem
  readonly dimensions: readonly Dimension[]
  /** A copy; assign or mutate freely. */
  detail: Detail

  #phase: Phase
  #resolution: string | null = null
  readonly #changes = new Map<string, DimensionDraft>()

  constructor(item: WorkItem, detail: Detail, dimensions: readonly Dimension[]) {
    this.item = item
    this.detail = structuredClone(detail)
    this.dimensions = dimensions
    this.#phase = item.phase
  }

  get phase(): Phase {
    return this.#phase
  }

  get resolution(): string | null {
    return this.#resolution
  }

  get dimensionChanges(): readonly DimensionDraft[] {
    return [...this.#changes.values()]
  }

  /** Ends the item. `resolution` says why: `merged`, `closed`, `empty`, … */
  finish(phase: Exclude<Phase, 'active'>, resolution: string): void {
    this.#phase = phase
    this.#resolution = resolution
  }

  /** An action of this dimension is needed, now or after `deferMs`. */
  need(dimension: string, options: { variant?: string; deferMs?: number; note?: string } = {}): void {
    this.#set(dimension, 'true', options)
  }

  /** This dimension is handled. */
  settle(dimension: string, options: { variant?: string; note?: string } = {}): void {
    this.#set(dimension, 'false', options)
  }

  #set(
    dimension: string,
    status: DimensionStatus,
    { variant = '', deferMs, note }: { variant?: string; deferMs?: number; note?: string },
  ): void {
    this.#changes.set(`${dimension}\u0000${variant}`, {
      dimension,
      variant,
      status,
      deferMs: deferMs ?? null,
      note: note ?? null,
    })
  }
}
