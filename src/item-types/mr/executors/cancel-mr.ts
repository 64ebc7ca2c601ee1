/** Ends an item because its caller asked for it: closes the merge request and deletes the branch if it is the service's. */
import type { ExecutorResult } from '../../../queue/item-type.ts'
import { type Action, createExecutor, type MrServices, SUCCEEDED } from './context.ts'
import { closeAndCleanUp, finishMerged } from './ending.ts'

export function createCancelMr(services: MrServices) {
  return createExecutor(services, cancelMr)
}

async function cancelMr(action: Action): Promise<ExecutorResult> {
  const { draft } = action
  const projectId = await findProjectId(action)
  const merged = projectId === null ? null : await closeAndCleanUp(action, projectId)
  // The merge was faster than the cancel: what is in the target cannot be called cancelled.
  if (merged === null) draft.finish('cancelled', 'cancelled_by_caller')
  else finishMerged(draft, merged)
  return SUCCEEDED
}

/** null: nothing was ever written, because the project was never found. */
async function findProjectId({ services, draft, context }: Action): Promise<number | null> {
  if (draft.detail.projectId !== null) return draft.detail.projectId
  const project = await services.gitlab.getProject(draft.detail.project, context)
  return project?.id ?? null
}
