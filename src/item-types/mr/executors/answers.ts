/** How the questions of the merge gate are put to GitLab. */
import type { GitLabBridge, GitLabMergeRequest } from '../../../gitlab/port.ts'
import type { MrProjectConfig } from '../config.ts'
import type { Answers, Question } from '../merge-gate.ts'
import type { Action } from './context.ts'

type Ask = (action: Action, mergeRequest: GitLabMergeRequest, policy: MrProjectConfig) => Promise<Answers>

/** GitLab allows child pipelines of child pipelines, and no more. */
export const MAX_DEPTH = 3

export const askOf: Readonly<Record<Question, Ask>> = {
  async merged_result({ services, context }, { projectId, headPipeline }) {
    const commit = headPipeline && (await services.gitlab.getCommit(projectId, headPipeline.sha, context))
    return { merged_result: commit?.parentShas ?? [] }
  },

  async children(action, { projectId, headPipeline }) {
    return { children: headPipeline === null ? [] : await bridgesOf(action, projectId, headPipeline.id, 1) }
  },

  async review(action, mergeRequest, policy) {
    return { review: await findApprover(action, mergeRequest, policy) }
  },
}

async function bridgesOf(
  action: Action,
  projectId: number,
  pipelineId: number,
  depth: number,
): Promise<readonly GitLabBridge[]> {
  const bridges = await action.services.gitlab.listBridges(projectId, pipelineId, action.context)
  if (depth === MAX_DEPTH) return bridges
  const below: GitLabBridge[] = []
  for (const { downstream, allowFailure } of bridges) {
    // What another project starts further down is that project's business.
    if (downstream === null || allowFailure || (downstream.projectId ?? projectId) !== projectId) continue
    below.push(...(await bridgesOf(action, projectId, downstream.id, depth + 1)))
  }
  return [...bridges, ...below]
}

/**
 * Whoever of those who may agree has approved this very commit: after it was made, by GitLab's clock at both ends. An
 * approval without a time says nothing about what was approved. The service's own user never counts.
 */
async function findApprover(
  { services, draft, context }: Action,
  { projectId, iid }: GitLabMergeRequest,
  { review }: MrProjectConfig,
): Promise<string | null> {
  if (review === undefined) return null
  const { gitlab } = services
  const [head, approvals, own] = [
    await gitlab.getBranch(projectId, draft.detail.sourceBranch, context),
    await gitlab.getApprovals(projectId, iid, context),
    await gitlab.getOwnUser(context),
  ]
  if (head === null || head.sha !== draft.detail.writtenSha || head.committedAt === null) return null
  const writtenAt = Date.parse(head.committedAt)
  const users = (review.users ?? []).map((name) => name.toLowerCase())
  for (const { userId, username, approvedAt } of approvals.approvedBy) {
    if (userId === own.id || approvedAt === null || !(Date.parse(approvedAt) > writtenAt)) continue
    if (users.includes(username.toLowerCase())) return username
    if (review.group !== undefined && (await gitlab.isGroupMember(review.group, userId, context))) return username
  }
  return null
}
