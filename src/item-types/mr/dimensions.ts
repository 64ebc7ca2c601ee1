/**
 * The triggers of an mr item in priority order, and the action each asks for. A cancel comes first, because nothing else
 * is worth doing then; content before reconciling, because reconciling an outdated branch could merge it.
 */
import type { DimensionDeclaration } from '../../queue/dimension.ts'

export const NEEDS_CANCEL = 'needs_cancel'
export const NEEDS_MR = 'needs_mr'
export const NEEDS_RECONCILE = 'needs_reconcile'

export interface MrDimension extends DimensionDeclaration {
  readonly action: 'cancel_mr' | 'ensure_mr' | 'reconcile_mr'
}

export const MR_DIMENSIONS = [
  { name: NEEDS_CANCEL, absent: 'not_needed', action: 'cancel_mr' },
  { name: NEEDS_MR, absent: 'needed', action: 'ensure_mr' },
  { name: NEEDS_RECONCILE, absent: 'needed', action: 'reconcile_mr' },
] as const satisfies readonly MrDimension[]
