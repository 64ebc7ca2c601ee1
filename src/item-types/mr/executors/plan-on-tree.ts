/** What a submission means on one commit's tree, read from GitLab. */
import { type FilePlan, planFiles } from '../file-plan.ts'
import { touchedPaths } from '../inspection/file-rules.ts'
import type { MrSubmission } from '../schema.ts'
import { readTargetTree, type TreeEntries } from '../target-tree.ts'
import type { Action } from './context.ts'

export interface PlanOnTree extends FilePlan {
  /** What lies at the touched paths on that commit. */
  readonly entries: TreeEntries
}

export async function planOn(
  { services, context }: Action,
  { file_actions }: MrSubmission,
  projectId: number,
  sha: string,
): Promise<PlanOnTree> {
  const paths = file_actions.flatMap((fileAction) => touchedPaths(fileAction).map(({ path }) => path))
  const tree = await readTargetTree(services.gitlab, projectId, sha, paths, context)
  return { ...planFiles(file_actions, tree), entries: tree.entries }
}
