/**
 * The triggers of an mr item in priority order, and the action each asks for. A cancel comes first, because nothing else
 * is worth doing then; content before reconciling, because reconciling an outdated branch could merge it.
 */
import type { DimensionDeclaration } from '../../queue/dimension.ts'

export const NEEDS_CANCEL = 'needs_cancel'
export const NEEDS_MR = 'needs_mr'
export const NEEDS_RECONCILE = 'needs_reconcile'
/** The head pipeline has failed: the herder has to look whether its jobs are run again (decision 0047). */
export const NEEDS_CI_RETRY = 'needs_ci_retry'
/** The note on the merge request is missing or out of date. */
export const NEEDS_DASHBOARD_LINK = 'needs_dashboard_link'
/** It is time to ask whether merging would still change anything (decision 0043). */
export const NEEDS_EMPTY_CHECK = 'needs_empty_check'
/** After the merge: a variant for each component whose build is awaited; without a variant, they are to be looked at. */
export const NEEDS_BUILD = 'needs_build'

export interface MrDimension extends DimensionDeclaration {
  readonly action:
    | 'cancel_mr'
    | 'ensure_mr'
    | 'reconcile_mr'
    | 'retry_ci'
    | 'post_dashboard_link'
    | 'check_empty'
    | 'check_builds'
}

export const MR_DIMENSIONS = [
  { name: NEEDS_CANCEL, absent: 'not_needed', action: 'cancel_mr' },
  { name: NEEDS_MR, absent: 'needed', action: 'ensure_mr' },
  { name: NEEDS_RECONCILE, absent: 'needed', action: 'reconcile_mr' },
  { name: NEEDS_CI_RETRY, absent: 'not_needed', action: 'retry_ci' },
  { name: NEEDS_BUILD, absent: 'not_needed', action: 'check_builds' },
  { name: NEEDS_EMPTY_CHECK, absent: 'not_needed', action: 'check_empty' },
  { name: NEEDS_DASHBOARD_LINK, absent: 'not_needed', action: 'post_dashboard_link' },
] as const satisfies readonly MrDimension[]
