/** What is asked before a merge: what it would make, who has approved, and what a pipeline has started elsewhere. */

import { BaseResource } from '@gitbeaker/requester-utils'
import { Jobs, MergeRequestApprovals } from '@gitbeaker/rest'
import { type Connection, orNull, readAnswer } from './connection.ts'
import { GitLabError } from './errors.ts'
import type { GitLab } from './port.ts'
import { approvalsSchema, bridgesSchema, mergeRefSchema } from './schema.ts'

/** gitbeaker does not know this one. */
class MergeRefs extends BaseResource<false> {
  async show(projectId: number, iid: number): Promise<unknown> {
    const { body } = await this.requester.get(`projects/${projectId}/merge_requests/${iid}/merge_ref`, {})
    return body
  }
}

export function proofCalls(connection: Connection): Pick<GitLab, 'getMergeRef' | 'getApprovals' | 'listBridges'> {
  return {
    async getMergeRef(projectId, iid, call) {
      try {
        const answer = connection(MergeRefs, call).show(projectId, iid)
        return await orNull(
          answer.then((body) => readAnswer(mergeRefSchema, body, 'the question for a merge to be').commit_id),
        )
      } catch (error) {
        // GitLab says 400 with a reason where it cannot merge the two.
        if (error instanceof GitLabError && error.status === 400) return null
        throw error
      }
    },

    async getApprovals(projectId, iid, call) {
      const answer = await connection(MergeRequestApprovals, call).showConfiguration(projectId, {
        mergerequestIId: iid,
      })
      return readAnswer(approvalsSchema, answer, 'the question for approvals')
    },

    async listBridges(projectId, pipelineId, call) {
      const answer = await connection(Jobs, call).allPipelineBridges(projectId, pipelineId)
      return readAnswer(bridgesSchema, answer, 'the list of downstream pipelines')
    },
  }
}
