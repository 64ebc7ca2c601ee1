/**
 * Sends webhooks. Each signal becomes one body, built once and posted to every hook of the project that wants it, in
 * parallel and without any order between deliveries, as GitLab does: a receiver that relies on order fails here too. A
 * delivery that fails is logged and forgotten; it is never repeated.
 */
import { randomUUID } from 'node:crypto'
import { messageOf } from '../../../src/lib/errors.ts'
import { kindOf, latestJobsOf, pipelineOf } from '../ci/jobs.ts'
import type { SandboxContext } from '../context.ts'
import { VERSION } from '../routes/instance.ts'
import type { Hook, Job, Pipeline, Project, Push, SandboxSignals } from '../state.ts'
import { jobBody, pipelineBody } from './ci-bodies.ts'
import { mergeRequestBody, noteBody } from './merge-request-body.ts'
import { pushBody } from './push-body.ts'

const TIMEOUT_MS = 10_000
/** Above this many branches in one push GitLab sends no push hook at all. */
const MAX_PUSHED_BRANCHES = 3

type EventFlag = 'mergeRequestsEvents' | 'pipelineEvents' | 'jobEvents' | 'noteEvents' | 'pushEvents'

const EVENT_NAMES: Record<EventFlag, string> = {
  mergeRequestsEvents: 'Merge Request Hook',
  pipelineEvents: 'Pipeline Hook',
  jobEvents: 'Job Hook',
  noteEvents: 'Note Hook',
  pushEvents: 'Push Hook',
}

export interface Webhooks {
  /** Resolves when no delivery is under way. */
  idle(): Promise<void>
  /** Sends no more; deliveries under way are broken off. */
  stop(): Promise<void>
}

export function startWebhooks(context: SandboxContext): Webhooks {
  const underWay = new Set<Promise<void>>()
  const stopping = new AbortController()

  /** Calls `body` at once, so that it takes its copies of the records now; the rest happens in the background. */
  function dispatch(projectId: number, flag: EventFlag, body: (project: Project) => Promise<object>): void {
    const project = context.findProject(projectId)
    const hooks = project?.hooks.filter((hook) => hook[flag]) ?? []
    if (project === null || hooks.length === 0) return
    const work = body(project)
      .then((built) => {
        const text = JSON.stringify(built)
        const eventUuid = randomUUID()
        return Promise.all(hooks.map((hook) => deliver(context, hook, flag, text, eventUuid, stopping.signal)))
      })
      .then(() => {})
      .catch((error) => context.log.error({ error: messageOf(error) }, 'sandbox webhook body could not be built'))
      .finally(() => underWay.delete(work))
    underWay.add(work)
  }

  const onPush = (push: Push) => {
    if ((push.branchesInPush ?? 1) > MAX_PUSHED_BRANCHES) return
    dispatch(push.project.id, 'pushEvents', () => pushBody(context, push))
  }
  const onMergeRequest = (event: SandboxSignals['merge_request'][0]) => {
    dispatch(event.mergeRequest.projectId, 'mergeRequestsEvents', (project) =>
      mergeRequestBody(context, project, structuredClone(event)),
    )
  }
  const onPipeline = ({ pipeline }: SandboxSignals['pipeline'][0]) => {
    dispatch(pipeline.projectId, 'pipelineEvents', (project) =>
      pipelineBody(context, project, structuredClone(pipeline), structuredClone(latestBuildsOf(context, pipeline))),
    )
  }
  const onJob = ({ job }: SandboxSignals['job'][0]) => {
    // GitLab tells of builds only.
    if (kindOf(job) !== 'build') return
    dispatch(job.projectId, 'jobEvents', (project) =>
      jobBody(context, project, structuredClone(job), structuredClone(pipelineOf(context, job))),
    )
  }
  const onNote = ({ note }: SandboxSignals['note'][0]) => {
    const mergeRequest = context.findMergeRequest(note.projectId, note.noteableIid)
    if (note.system || mergeRequest === null) return
    dispatch(note.projectId, 'noteEvents', (project) =>
      noteBody(context, project, structuredClone(note), structuredClone(mergeRequest)),
    )
  }

  const { signals } = context
  signals.on('push', onPush)
  signals.on('merge_request', onMergeRequest)
  signals.on('pipeline', onPipeline)
  signals.on('job', onJob)
  signals.on('note', onNote)
  const idle = async () => {
    while (underWay.size > 0) await Promise.all(underWay)
  }
  return {
    idle,
    async stop() {
      signals.off('push', onPush)
      signals.off('merge_request', onMergeRequest)
      signals.off('pipeline', onPipeline)
      signals.off('job', onJob)
      signals.off('note', onNote)
      stopping.abort()
      await idle()
    },
  }
}

function latestBuildsOf(context: SandboxContext, pipeline: Pipeline): readonly Job[] {
  return latestJobsOf(context, pipeline).filter((job) => kindOf(job) === 'build')
}

async function deliver(
  context: SandboxContext,
  hook: Hook,
  flag: EventFlag,
  body: string,
  eventUuid: string,
  stopping: AbortSignal,
): Promise<void> {
  try {
    const response = await fetch(hook.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': `GitLab/${VERSION}`,
        'idempotency-key': randomUUID(),
        'x-gitlab-event': EVENT_NAMES[flag],
        'x-gitlab-instance': context.externalUrl,
        'x-gitlab-webhook-uuid': randomUUID(),
        'x-gitlab-event-uuid': eventUuid,
        ...(hook.token === null ? {} : { 'x-gitlab-token': hook.token }),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    if (response.status >= 400) {
      context.log.warn({ hook: hook.id, status: response.status }, 'sandbox webhook was refused')
    }
  } catch (error) {
    if (!stopping.aborted)
      context.log.warn({ hook: hook.id, error: messageOf(error) }, 'sandbox webhook did not arrive')
  }
}
