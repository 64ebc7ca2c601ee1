/** How an executor says what the item waits for, so that the note on the merge request follows. */
import { isDeepStrictEqual } from 'node:util'
import { NEEDS_DASHBOARD_LINK } from '../dimensions.ts'
import type { Reason } from '../merge-gate.ts'
import type { Action } from './context.ts'

/** A note is written once what it says has stood for a moment. */
const NOTE_DELAY_MS = 10_000

/** What it waits for, and since when. The note is written anew when it is something else, or about something else. */
export function recordWait({ services, draft, context }: Action, reason: Reason): void {
  const { detail } = draft
  const before = detail.waitsFor
  const isSame = before?.code === reason.code
  detail.waitsFor = { ...reason, since: isSame ? before.since : context.now.toISOString() }
  if (isSame && isDeepStrictEqual(before.links ?? [], reason.links ?? [])) return
  const isPlanned = draft.dimensions.some((one) => one.dimension === NEEDS_DASHBOARD_LINK && one.status === 'true')
  const wanted = services.inspector.policyOf(detail.project)?.note ?? false
  if (wanted && !isPlanned) draft.need(NEEDS_DASHBOARD_LINK, { deferMs: NOTE_DELAY_MS })
}
