/** What is stored about one merge request beyond the generic item: the caller's wish, then what the service observed. */

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
}
