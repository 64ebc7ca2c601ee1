/** The few changes of a merge request's state that several parts make, each with its signal. */
import type { SandboxContext } from '../context.ts'
import type { MergeRequest } from '../state.ts'
import { resetCheck } from './mergeability.ts'

const STATE_IDS = { opened: 1, closed: 2, merged: 3, locked: 4 } as const

/** Marks the record as changed now. */
export function touch(context: SandboxContext, mergeRequest: MergeRequest): void {
  mergeRequest.updatedAt = context.timestamp()
  context.save()
}

function changeState(context: SandboxContext, mergeRequest: MergeRequest, state: MergeRequest['state']) {
  const previous = mergeRequest.state
  mergeRequest.state = state
  touch(context, mergeRequest)
  return { state_id: { previous: STATE_IDS[previous], current: STATE_IDS[state] } }
}

/** Closes an open request; does nothing to another. */
export function closeMergeRequest(context: SandboxContext, mergeRequest: MergeRequest, userId: number): void {
  if (mergeRequest.state !== 'opened') return
  mergeRequest.closedAt = context.timestamp()
  mergeRequest.closedById = userId
  mergeRequest.autoMerge = null
  const changes = changeState(context, mergeRequest, 'closed')
  context.signals.emit('merge_request', { mergeRequest, action: 'close', userId, changes })
}

/** Opens a closed request again; does nothing to another. */
export function reopenMergeRequest(context: SandboxContext, mergeRequest: MergeRequest, userId: number): void {
  if (mergeRequest.state !== 'closed') return
  mergeRequest.closedAt = null
  mergeRequest.closedById = null
  resetCheck(mergeRequest)
  const changes = changeState(context, mergeRequest, 'opened')
  context.signals.emit('merge_request', { mergeRequest, action: 'reopen', userId, changes })
}

/** Says that the request is merged; the target branch holds it already. */
export function markMerged(context: SandboxContext, mergeRequest: MergeRequest, userId: number): void {
  mergeRequest.mergedAt = context.timestamp()
  mergeRequest.mergeUserId = userId
  mergeRequest.mergeError = null
  mergeRequest.autoMerge = null
  const changes = changeState(context, mergeRequest, 'merged')
  context.signals.emit('merge_request', { mergeRequest, action: 'merge', userId, changes })
}
