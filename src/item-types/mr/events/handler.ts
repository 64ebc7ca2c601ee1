/**
 * What an event means for an item: have a look, or nothing. An event is only a hint: it may be late, repeated, out of order
 * or forged, so that not even a merge is taken from it. The look costs a call to GitLab, so what is surely no news gets none.
 */
import { z } from 'zod'
import type { EventResult, PendingEvent, Snapshot } from '../../../queue/item-type.ts'
import type { MrDetail } from '../detail.ts'
import { NEEDS_RECONCILE } from '../dimensions.ts'

export function handleEvent(event: PendingEvent, { detail }: Pick<Snapshot<MrDetail>, 'detail'>): EventResult {
  const { eventType } = event
  const trigger = `gitlab:${eventType}`
  if (!isNews(event, detail)) return { phase: null, dimensions: [], trigger }
  const dimensions = [{ dimension: NEEDS_RECONCILE, status: 'true', note: `a ${eventType} event` }] as const
  return { phase: null, dimensions, trigger }
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
