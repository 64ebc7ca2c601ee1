/**
 * What makes two submissions the same merge request, and what makes them ask for the same thing. Neither depends on the
 * order in which a caller happened to list files, labels or people.
 */
import { contentHash } from '../../lib/content-hash.ts'
import type { ItemScope } from '../../queue/item-type.ts'
import type { MrSubmission } from './schema.ts'

/** `mr:{project}:{source_branch}`; the project in the spelling of the configuration, because GitLab ignores its case. */
export function dedupKeyOf({ project, source_branch }: Pick<MrSubmission, 'project' | 'source_branch'>): string {
  return `mr:${project}:${source_branch}`
}

/** What `dedupKeyOf` was made of. Neither part holds a colon: GitLab allows none in a path, git none in a branch. */
export function scopeOfKey(dedupKey: string): ItemScope {
  const [, project, branch] = /^mr:([^:]+):([^:]+)$/.exec(dedupKey) ?? []
  return project === undefined || branch === undefined ? {} : { project, branch }
}

/** Over everything the caller controls. */
export function contentHashOf(submission: MrSubmission): string {
  const { labels, assignees, reviewers, file_actions } = submission
  return contentHash({
    ...submission,
    labels: asSet(labels),
    assignees: asSet(assignees),
    reviewers: asSet(reviewers),
    file_actions: inPathOrder(file_actions),
  })
}

/** Over what goes into the commit alone: a new title must not cost a new commit and a new pipeline. */
export function commitHashOf(submission: MrSubmission, targetBranch: string): string {
  return contentHash({
    commit_message: submission.commit_message,
    file_actions: inPathOrder(submission.file_actions),
    target_branch: targetBranch,
  })
}

function asSet(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}

/** Paths are unique within a submission, so their order carries no meaning. */
function inPathOrder(actions: MrSubmission['file_actions']): MrSubmission['file_actions'] {
  return actions.toSorted((left, right) => (left.file_path < right.file_path ? -1 : 1))
}
