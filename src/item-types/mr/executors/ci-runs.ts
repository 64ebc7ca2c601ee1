/**
 * All runs of the jobs that the end of a pipeline depends on: its own, and those of child pipelines in the same project.
 * What a pipeline of another project does is that project's business; of it only the bridge counts.
 */
import type { GitLabBridge } from '../../../gitlab/port.ts'
import { findFailures, type Run } from '../herder/failures.ts'
import { MAX_DEPTH } from './answers.ts'
import type { Action } from './context.ts'

/** `everyChild`: also of children that their bridge does not wait for. */
export async function collectRuns(
  action: Action,
  projectId: number,
  pipelineId: number,
  everyChild: boolean,
  depth = 1,
): Promise<readonly Run[]> {
  const { services, context } = action
  const [jobs, bridges] = await Promise.all([
    services.gitlab.listJobs(projectId, pipelineId, context),
    services.gitlab.listBridges(projectId, pipelineId, context),
  ])
  const runs: Run[] = jobs.map((job) => ({ ...job, kind: 'job', pipelineId }))
  for (const bridge of bridges) {
    if (bridge.allowFailure || !hasFailed(bridge, everyChild)) continue
    const { downstream } = bridge
    const isOwn = downstream !== null && (downstream.projectId ?? projectId) === projectId && depth < MAX_DEPTH
    const below = isOwn ? await collectRuns(action, projectId, downstream.id, everyChild, depth + 1) : []
    runs.push(...below)
    if (findFailures(below).length === 0) runs.push(asRun(bridge, pipelineId))
  }
  return runs
}

function hasFailed({ status, downstream }: GitLabBridge, everyChild: boolean): boolean {
  return status === 'failed' || status === 'canceled' || (everyChild && downstream?.status === 'failed')
}

/** It failed itself, or what it has started did: for reasons that lie elsewhere. */
function asRun({ downstream, ...bridge }: GitLabBridge, pipelineId: number): Run {
  const failed = bridge.status === 'success' ? { status: 'failed', failureReason: 'downstream_failed' } : {}
  return { ...bridge, ...failed, webUrl: downstream?.webUrl || bridge.webUrl, kind: 'bridge', pipelineId }
}
