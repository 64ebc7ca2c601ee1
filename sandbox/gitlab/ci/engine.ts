/**
 * Starts pipelines when something happens: a merge request is opened, its head moves, a branch is pushed. Requests are
 * worked off one after another, so that pipelines are numbered in the order of what caused them. At the start it takes up
 * again the jobs that a former process left pending or running.
 */
import { messageOf } from '../../../src/lib/errors.ts'
import type { SandboxContext } from '../context.ts'
import { ZERO_SHA } from '../git/repository.ts'
import type { Push, SandboxSignals } from '../state.ts'
import { startBridges } from './bridges.ts'
import { advance, resume } from './jobs.ts'
import { createPipeline, type PipelineRequest, updateHeadPipeline } from './pipelines.ts'
import { isAlive } from './status.ts'

export interface Ci {
  /** Resolves when every pipeline asked for so far has been made (not: has ended). */
  idle(): Promise<void>
  stop(): Promise<void>
}

export function startCi(context: SandboxContext): Ci {
  let tail = Promise.resolve()
  const request = (wanted: PipelineRequest) => {
    tail = tail.then(async () => {
      try {
        await createPipeline(context, wanted)
      } catch (error) {
        context.log.error({ branch: wanted.branch, error: messageOf(error) }, 'sandbox pipeline could not be made')
      }
    })
  }
  const onPush = ({ project, branch, before, after, userId }: Push) => {
    if (after === ZERO_SHA) return
    request({ project, branch, sha: after, source: 'push', userId, beforeSha: before })
  }
  const onMergeRequest = ({ mergeRequest, action, userId, oldrev }: SandboxSignals['merge_request'][0]) => {
    const headIsNew = action === 'open' || (action === 'update' && oldrev !== undefined)
    const project = context.findProject(mergeRequest.projectId)
    if (project === null || !headIsNew) return
    updateHeadPipeline(context, mergeRequest)
    const { sourceBranch: branch, sha } = mergeRequest
    request({ project, branch, sha, source: 'merge_request_event', userId, mergeRequest })
  }
  context.signals.on('push', onPush)
  context.signals.on('merge_request', onMergeRequest)
  const stopBridges = startBridges(context)
  for (const job of context.state.jobs) resume(context, job)
  for (const pipeline of context.state.pipelines) if (isAlive(pipeline.status)) advance(context, pipeline)
  return {
    idle: () => tail,
    async stop() {
      context.signals.off('push', onPush)
      context.signals.off('merge_request', onMergeRequest)
      stopBridges()
      await tail
    },
  }
}
