/**
 * Asks now and then whether merging would still change anything (decision 0043): the merge that GitLab would make, against
 * the target it would make it on, tree against tree. Only a complete and empty answer counts; then there is nothing left to
 * merge, and the merge request is closed with a word about it.
 */
import type { GitLabMergeRequest } from '../../../gitlab/port.ts'
import type { ExecutorResult } from '../../../queue/item-type.ts'
import { NEEDS_EMPTY_CHECK } from '../dimensions.ts'
import { type Action, createExecutor, type MrServices, SUCCEEDED } from './context.ts'
import { closeAndCleanUp, finishMerged } from './ending.ts'
import { postClosingNote } from './notes.ts'
import { withRights } from './project.ts'

export function createCheckEmpty(services: MrServices) {
  return createExecutor(services, (action) => withRights(action, () => checkEmpty(action)))
}

async function checkEmpty(action: Action): Promise<ExecutorResult> {
  const { services, draft, context } = action
  const { projectId, mrIid } = draft.detail
  const mergeRequest =
    projectId === null || mrIid === null ? null : await services.gitlab.getMergeRequest(projectId, mrIid, context)
  if (mergeRequest === null || !(await wouldChangeNothing(action, mergeRequest))) {
    draft.need(NEEDS_EMPTY_CHECK, { deferMs: services.config.empty_check_interval })
    return SUCCEEDED
  }
  await postClosingNote(
    action,
    mergeRequest,
    `The branch ${mergeRequest.targetBranch} holds everything that this would change, so there is nothing left to merge, and it is closed.`,
  )
  const merged = await closeAndCleanUp(action, mergeRequest.projectId)
  if (merged === null) draft.finish('completed', 'empty')
  else finishMerged(action, merged)
  return SUCCEEDED
}

/** Of commits of somebody else the service says nothing, and what cannot be merged now is not empty. */
async function wouldChangeNothing(
  { services, draft, context }: Action,
  { projectId, iid, state, sha }: GitLabMergeRequest,
): Promise<boolean> {
  if (state !== 'opened' || sha === null || sha !== draft.detail.writtenSha) return false
  const { gitlab } = services
  const result = await gitlab.getMergeRef(projectId, iid, context)
  const commit = result === null ? null : await gitlab.getCommit(projectId, result, context)
  const [target, head] = commit?.parentShas ?? []
  // Of an older head, or a target that GitLab has merged in another way: another time.
  if (commit === null || target === undefined || head !== sha) return false
  const { diffs, timedOut } = await gitlab.compare(projectId, target, commit.sha, true, context)
  return !timedOut && diffs.length === 0
}
