/**
 * What an event means for an item: have a look, or nothing. An event is only a hint: it may be late, repeated, out of order
 * or forged, so that not even a merge is taken from it. The look costs a call to GitLab, so what is surely no news gets none.
 * How a build after the merge has ended only its event knows; more than how a merged item ends does not hang on that.
 */
import { z } from 'zod'
import type { EventResult, PendingEvent, Snapshot } from '../../../queue/item-type.ts'
import { noteOf, rowOf } from '../builds.ts'
import type { MrConfig } from '../config.ts'
import type { MrDetail } from '../detail.ts'
import { NEEDS_BUILD, NEEDS_RECONCILE } from '../dimensions.ts'
import { type BuildResult, readBuildResult } from './pipeline-run.ts'

type Handle = (event: PendingEvent, snapshot: Pick<Snapshot<MrDetail>, 'detail' | 'dimensions'>) => EventResult

export function createHandleEvent({ pipeline_run_url }: Pick<MrConfig, 'pipeline_run_url'>): Handle {
  return (event, { detail, dimensions }) => {
    const { eventType, body } = event
    if (eventType === 'pipeline_run') {
      const result = readBuildResult(body)
      const isAwaited =
        result !== null && result.sha === detail.mergeCommitSha && isOpen(result, { detail, dimensions })
      return {
        phase: null,
        dimensions: isAwaited ? resultOf(result, pipeline_run_url) : [],
        trigger: `konflux:${result === null ? eventType : result.component}`,
      }
    }
    const trigger = `gitlab:${eventType}`
    if (!isNews(event, detail)) return { phase: null, dimensions: [], trigger }
    const look = [{ dimension: NEEDS_RECONCILE, status: 'true', note: `a ${eventType} event` }] as const
    return { phase: null, dimensions: look, trigger }
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

const ownPushSchema = z.looseObject({ after: z.string() })
const failedJobSchema = z.looseObject({ build_status: z.literal('failed') })

function isNews({ eventType, body }: PendingEvent, { writtenSha }: MrDetail): boolean {
  switch (eventType) {
    case 'push':
      // The service's own; the pipeline that follows from it is told by events of its own.
      return writtenSha === null || ownPushSchema.safeParse(body).data?.after !== writtenSha
    case 'build':
      // Of a job that ended well, its pipeline tells. One that failed is to be looked at while the others still run.
      return failedJobSchema.safeParse(body).success
    default:
      return true
  }
}
