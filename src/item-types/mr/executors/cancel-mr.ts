/** Ends an item because its caller asked for it: closes the merge request and deletes the branch if it is the service's. */
import type { ExecutorResult } from '../../../queue/item-type.ts'
import { type Action, createExecutor, type MrServices, SUCCEEDED } from './context.ts'
import { closeAndCleanUp, endMerged } from './ending.ts'
import { requireProject, withRights } from './project.ts'

export function createCancelMr(services: MrServices) {
  return createExecutor(services, (action) => withRights(action, () => cancelMr(action)))
}

async function cancelMr(action: Action): Promise<ExecutorResult> {
  const { draft } = action
  const projectId = await findProjectId(action)
  const merged = projectId === null ? null : await closeAndCleanUp(action, projectId)
  // The merge was faster than the cancel: what is in the target cannot be called cancelled.
  if (merged === null) draft.finish('cancelled', 'cancelled_by_caller')
  else endMerged(draft, merged)
  return SUCCEEDED
}

/** null: nothing was ever written, because the project was never found. @throws WorkQueueError `project_lost`. */
async function findProjectId(action: Action): Promise<number | null> {
  const { services, draft, context } = action
  if (draft.detail.projectId !== null) {
    // Everything in a project that cannot be seen reads as gone, and would be called cancelled.
    await requireProject(action, draft.detail.projectId)
    return draft.detail.projectId
  }
  const project = await services.gitlab.getProject(draft.detail.project, context)
  return project?.id ?? null
}
