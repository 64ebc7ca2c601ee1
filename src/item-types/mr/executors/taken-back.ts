/**
 * What a rebuild takes back. The caller's files are written as they were submitted, also where somebody else has changed the
 * same file in the target since the last write; that is what desired state means, and it must not happen in silence. A
 * changed submission is not asked: its caller may well have seen the newer file.
 */
import type { GitLabBranch, GitLabCommitAction } from '../../../gitlab/port.ts'
import { openTree, readTargetTree, type TreeEntries } from '../target-tree.ts'
import type { Action } from './context.ts'
import type { PlanOnTree } from './plan-on-tree.ts'
import type { Target } from './project.ts'

export async function findTakenBack(
  { services, draft, context }: Action,
  { project }: Target,
  branch: GitLabBranch | null,
  plan: PlanOnTree,
  commitHash: string,
): Promise<readonly string[]> {
  const { writtenSha, writtenHash } = draft.detail
  const [base] = branch?.parentShas ?? []
  if (branch === null || branch.sha !== writtenSha || writtenHash !== commitHash || base === undefined) return []
  const paths = plan.actions.flatMap(({ file_path, previous_path }) => [file_path, previous_path ?? []].flat())
  const { entries } = await readTargetTree(openTree(services.gitlab, project.id, base, context), paths)
  const changed = changedBack(plan.actions, entries, plan.entries)
  if (changed.length > 0) {
    context.log.warn(
      { work_item_id: draft.item.id, branch: branch.name, paths: changed.slice(0, 10), count: changed.length },
      'the rebuild takes back what somebody else has changed in the target since the last write',
    )
  }
  return changed
}

/** Of the files that the actions write, those that are not what they `were`: the content, or the mode where that is what is set. */
export function changedBack(
  actions: readonly GitLabCommitAction[],
  were: TreeEntries,
  are: TreeEntries,
): readonly string[] {
  const hasOther = (key: 'id' | 'mode') => (path: string) => were.get(path)?.[key] !== are.get(path)?.[key]
  return actions.flatMap(({ action, file_path, previous_path, content }) => {
    if (action === 'chmod') return [file_path].filter(hasOther('mode'))
    // A move without a content takes along what is there.
    const from = previous_path !== undefined && content !== undefined ? [previous_path] : []
    return [file_path, ...from].filter(hasOther('id'))
  })
}
