/** How a merge request's item shows itself in lists and on its page. Never with file contents. */
import type { Presentation, Snapshot } from '../../queue/item-type.ts'
import { findBlockers } from './blockers.ts'
import type { MrDetail } from './detail.ts'

export function present(snapshot: Snapshot<MrDetail>): Presentation {
  const { detail } = snapshot
  return {
    summary: `${detail.title} (${detail.project}: ${detail.sourceBranch} → ${targetOf(detail) ?? 'default branch'})`,
    links: linksOf(detail),
    blockers: findBlockers(snapshot),
    detail: {
      project: detail.project,
      source_branch: detail.sourceBranch,
      target_branch: targetOf(detail),
      title: detail.title,
      description: detail.description,
      labels: detail.labels,
      assignees: detail.assignees,
      reviewers: detail.reviewers,
      auto_merge: detail.autoMerge,
      squash: detail.squash,
      remove_source_branch: detail.removeSourceBranch,
      force_overwrite: detail.forceOverwrite,
      expires_at: detail.expiresAt?.toISOString() ?? null,
      needs_review: detail.needsReview,
      reviewed_sha: detail.reviewedSha,
      overwritten_sha: detail.overwrittenSha,
      project_id: detail.projectId,
      mr_iid: detail.mrIid,
      web_url: detail.webUrl,
      head_sha: detail.headSha,
      written_sha: detail.writtenSha,
      head_pipeline_id: detail.headPipelineId,
      head_pipeline_status: detail.headPipelineStatus,
      detailed_merge_status: detail.detailedMergeStatus,
      merge_refusal: detail.mergeRefusal,
      merge_commit_sha: detail.mergeCommitSha,
      merged_at: detail.mergedAt?.toISOString() ?? null,
      builds: detail.builds,
    },
  }
}

function linksOf({ webUrl, mrIid, builds }: MrDetail): Presentation['links'] {
  const mergeRequest = webUrl === null ? [] : [{ name: `!${mrIid}`, url: webUrl }]
  const runs = Object.entries(builds ?? {}).flatMap(([name, { url }]) => (url === null ? [] : [{ name, url }]))
  return [...mergeRequest, ...runs]
}

function targetOf({ targetBranch, resolvedTarget }: MrDetail): string | null {
  return targetBranch ?? resolvedTarget
}
