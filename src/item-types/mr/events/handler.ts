/**
 * What an event means for an item: have a look, or nothing. An event is only a hint: it may be late, repeated, out of order
 * or forged, so that not even a merge is taken from it. The look costs a call to GitLab, so what is surely no news gets none.
 * How a build after the merge has ended only its event knows; more than how a merged item ends does not hang on that.
 */
import { z } from 'zod'
import type { DimensionUpdate, EventResult, PendingEvent, Snapshot } from '../../../queue/item-type.ts'
import { noteOf, rowOf } from '../builds.ts'
import type { MrConfig } from '../config.ts'
import type { MrDetail } from '../detail.ts'
import { NEEDS_BUILD, NEEDS_RECONCILE } from '../dimensions.ts'
import { type BuildResult, readBuildResult } from './pipeline-run.ts'

type Seen = Pick<Snapshot<MrDetail>, 'detail' | 'dimensions' | 'now'>
type Handle = (event: PendingEvent, snapshot: Seen) => EventResult

export function createHandleEvent(config: Pick<MrConfig, 'pipeline_run_url' | 'pipeline_poll'>): Handle {
  return (event, seen) => {
    const { eventType, body } = event
    if (eventType === 'pipeline_run') return handleRun(body, seen, config.pipeline_run_url)
    const deferMs = lookInMs(event, seen, config.pipeline_poll)
    const look: DimensionUpdate = {
      ...{ dimension: NEEDS_RECONCILE, status: 'true' as const, note: `a ${eventType} event` },
      ...(deferMs === 0 || deferMs === null ? {} : { deferMs }),
    }
    return { phase: null, dimensions: deferMs === null ? [] : [look], trigger: `gitlab:${eventType}` }
  }
}

function handleRun(body: unknown, seen: Seen, template: string | undefined): EventResult {
  const result = readBuildResult(body)
  const isAwaited = result !== null && result.sha === seen.detail.mergeCommitSha && isOpen(result, seen)
  return {
    phase: null,
    dimensions: isAwaited ? resultOf(result, template) : [],
    trigger: `konflux:${result === null ? 'pipeline_run' : result.component}`,
  }
}

/** A success stands, whatever is told of other runs. */
function isOpen(
  { component }: BuildResult,
  { dimensions }: Pick<Snapshot<MrDetail>, 'detail' | 'dimensions'>,
): boolean {
  return rowOf(dimensions, component)?.status === 'true'
}

/** Settled, or due at once; either way somebody has to look at what is left. */
function resultOf(result: BuildResult, template: string | undefined): EventResult['dimensions'] {
  const { component, run, namespace, succeeded, message } = result
  const url = template?.replaceAll('{namespace}', namespace).replaceAll('{name}', run) ?? null
  const status = succeeded ? 'false' : 'true'
  return [
    { dimension: NEEDS_BUILD, variant: component, status, note: noteOf(`${run}: ${message}`, url) },
    { dimension: NEEDS_BUILD, status: 'true' },
  ]
}

const pushSchema = z.looseObject({ ref: z.string(), after: z.string() })
const failedJobSchema = z.looseObject({ build_status: z.literal('failed') })

/** After how long to look; null: it is no news. */
function lookInMs({ eventType, body }: PendingEvent, seen: Seen, soonMs: number): number | null {
  switch (eventType) {
    case 'push': {
      const push = pushSchema.safeParse(body).data
      if (push?.ref !== `refs/heads/${seen.detail.sourceBranch}`)
        return needsNoLookAtTarget(soonMs, seen) ? null : soonMs
      // The service's own; the pipeline that follows from it is told by events of its own.
      return push.after === seen.detail.writtenSha ? null : 0
    }
    case 'build':
      // Of a job that ended well, its pipeline tells. One that failed is to be looked at while the others still run.
      return failedJobSchema.safeParse(body).success ? 0 : null
    default:
      return 0
  }
}

/**
 * To the target: it may conflict from now on. Every open merge request hears of it, and each merge is such a push: with a look
 * at each at once, a hundred changes would cost ten thousand looks. So there is one soon, whatever else is pushed until then; and none once it
 * is merged itself.
 */
function needsNoLookAtTarget(withinMs: number, { detail, dimensions, now }: Seen): boolean {
  if (detail.builds !== null) return true
  const row = dimensions.find(({ dimension }) => dimension === NEEDS_RECONCILE)
  if (row?.status !== 'true') return row === undefined
  return row.pendingUntil === null || row.pendingUntil.getTime() - now.getTime() <= withinMs
}
