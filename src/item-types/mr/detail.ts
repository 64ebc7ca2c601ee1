/** What is stored about one merge request beyond the generic item: the caller's wish, then what the service observed. */
import type { Link } from '../../queue/item-type.ts'
import type { Builds } from './builds.ts'

export interface MrDetail {
  readonly project: string
  readonly sourceBranch: string
  /** null: the project's default branch. */
  readonly targetBranch: string | null
  readonly title: string
  readonly description: string
  readonly labels: readonly string[]
  readonly assignees: readonly string[]
  readonly reviewers: readonly string[]
  readonly autoMerge: boolean
  readonly squash: boolean
  readonly removeSourceBranch: boolean
  /** Milliseconds; null: as long as the project's own limit allows. */
  readonly expiresAfterMs: number | null
  /** Commits of somebody else on the source branch may be written over. */
  readonly forceOverwrite: boolean

  projectId: number | null
  /** The target in use, null until the project was looked up. */
  resolvedTarget: string | null
  mrIid: number | null
  webUrl: string | null
  /** The commit the service wrote to the source branch last; a head it does not know is never overwritten. */
  writtenSha: string | null
  /** What that commit carries (see identity.ts, commitHashOf). */
  writtenHash: string | null
  /** The target has moved into a conflict: the commit has to be made again on the newest target head. */
  rebuildWanted: boolean
  /** Head of the source branch as GitLab last showed it; differs from writtenSha once somebody else has pushed. */
  headSha: string | null
  headPipelineId: number | null
  headPipelineStatus: string | null
  detailedMergeStatus: string | null
  /** Why the last merge was not made, in GitLab's words. */
  mergeRefusal: string | null
  /** Looks in a row at a merge request that was not settled yet; makes the next look come later. */
  unsettledLooks: number
  mergeCommitSha: string | null
  mergedAt: Date | null
  /** It is closed when it is still open then; null: never. */
  expiresAt: Date | null
  /** It touches paths that a named person has to agree to; a draft until then. */
  needsReview: boolean
  /** The commit that was agreed to; another one has to be agreed to anew. */
  reviewedSha: string | null
  /** The head of somebody else that was written over because the caller forced it. */
  overwrittenSha: string | null
  /** The service's one note on the merge request. */
  noteId: number | null
  /** What the last look found to wait for; null: nothing, or it was not looked at yet. */
  waitsFor: Wait | null
  /** What the herder has found about a head pipeline that failed; null: nothing, or it was not asked yet. */
  ciFinding: CiFinding | null
  /** Of what was merged, by component; null: it is not merged, or nothing is waited for. */
  builds: Builds | null
}

/** What keeps a merge request from being merged. */
export interface Wait {
  /** Stable, snake_case; listed in merge-gate.ts. */
  readonly code: string
  readonly message: string
  /** Who can clear it. */
  readonly clearedBy: string
  /** When a look first found it, ISO 8601. */
  readonly since: string
  /** What it is about: the failed jobs. */
  readonly links?: readonly Link[]
}

/** The verdict of the herder (executors/retry-ci.ts) on one pipeline. */
export interface CiFinding {
  readonly pipelineId: number
  /** What was judged: the failed jobs and the matchers. As long as it is the same, so is what was left. */
  readonly judged: string
  readonly state: 'left' | 'waiting' | 'retried'
  readonly reason: Omit<Wait, 'since'>
}
