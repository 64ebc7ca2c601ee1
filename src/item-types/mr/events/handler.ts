/**
 * What an event means for an item: have a look. One handler serves every kind, because an event is only a hint: it may be
 * late, repeated, out of order or forged, so that not even a merge is taken from it. The look costs one call to GitLab.
 */
import type { EventResult, PendingEvent } from '../../../queue/item-type.ts'
import { NEEDS_RECONCILE } from '../dimensions.ts'

export function handleEvent({ eventType }: PendingEvent): EventResult {
  return {
    phase: null,
    dimensions: [{ dimension: NEEDS_RECONCILE, status: 'true', note: `a ${eventType} event` }],
    trigger: `gitlab:${eventType}`,
  }
}
