/**
 * A dimension is one trigger of one work item: `needs_mr`, `needs_reconcile`, with a variant where there may be several
 * (`needs_build` of one component). Its status says whether an action is needed; `pendingUntil` puts it off. Decisions
 * 0001, 0003 and 0048.
 */

/** `'true'`: an action is needed. `'false'`: handled. Text, because more values may come without a migration. */
export type DimensionStatus = 'true' | 'false'

export interface Dimension {
  readonly dimension: string
  /** `''` when the dimension has no variants. */
  readonly variant: string
  readonly status: DimensionStatus
  /** Deferred until then; null = now. */
  readonly pendingUntil: Date | null
  /** Why it stands like this, for people. */
  readonly note: string | null
  readonly updatedAt: Date
}

/** What an item type declares about one of its dimensions. */
export interface DimensionDeclaration {
  readonly name: string
  /** What a missing row means. Decision 0048 says needed, unless a type says otherwise. */
  readonly absent: 'needed' | 'not_needed'
}

/** `needs_build:widgets` for a variant: one key for each row, in logs and the audit. */
export function dimensionKey({
  dimension,
  variant = '',
}: {
  readonly dimension: string
  readonly variant?: string
}): string {
  return variant === '' ? dimension : `${dimension}:${variant}`
}

/** Does this dimension ask for an action at `now`? A deferred one does not, yet. */
export function isActionable(dimension: Pick<Dimension, 'status' | 'pendingUntil'>, now: Date): boolean {
  if (dimension.status === 'false') return false
  return dimension.pendingUntil === null || dimension.pendingUntil <= now
}

/**
 * The variants of one declared dimension that ask for an action at `now`: `['']` for a plain one. Empty when nothing is
 * needed.
 */
export function actionableVariants(
  declaration: DimensionDeclaration,
  dimensions: readonly Dimension[],
  now: Date,
): readonly string[] {
  const rows = dimensions.filter((row) => row.dimension === declaration.name)
  if (rows.length === 0) return declaration.absent === 'needed' ? [''] : []
  return rows.filter((row) => isActionable(row, now)).map((row) => row.variant)
}
