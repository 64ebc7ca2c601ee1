/** What a submission means on one commit's tree, read from GitLab. */
import { type FilePlan, planFiles } from '../file-plan.ts'
import { touchedPaths } from '../inspection/file-rules.ts'
import type { MrSubmission } from '../schema.ts'
import { openTree, readTargetTree, type Tree, type TreeEntries } from '../target-tree.ts'
import type { Looking } from './project.ts'

export interface PlanOnTree extends FilePlan {
  readonly tree: Tree
  /** What lies at the touched paths there. */
  readonly entries: TreeEntries
}

export async function planOn(
  { services, context }: Pick<Looking, 'services' | 'context'>,
  { file_actions }: MrSubmission,
  projectId: number,
  sha: string,
): Promise<PlanOnTree> {
  const paths = file_actions.flatMap((fileAction) => touchedPaths(fileAction).map(({ path }) => path))
  const tree = openTree(services.gitlab, projectId, sha, context)
  const found = await readTargetTree(tree, paths)
  return { ...planFiles(file_actions, found), tree, entries: found.entries }
}
