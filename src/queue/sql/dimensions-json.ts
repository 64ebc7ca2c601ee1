import type { DimensionDraft } from '../draft.ts'

/** Changes of dimensions as the statements take them. */
export function dimensionsJson(dimensions: readonly DimensionDraft[]): readonly Record<string, unknown>[] {
  return dimensions.map(({ dimension, variant, status, deferMs, note }) => ({
    dimension,
    variant,
    status,
    defer_ms: deferMs,
    note,
  }))
}
