/** What an operator holds, and whether an item is held by it (decision 0085). */
import type { WorkItem } from './work-item.ts'

/** null = any. */
export interface PauseScope {
  readonly itemType: string | null
  readonly concurrencyKey: string | null
  readonly callerIdentity: string | null
}

export interface Pause extends PauseScope {
  /** UUID version 7. */
  readonly id: string
  readonly reason: string
  /** The operator's name as a caller. */
  readonly createdBy: string
  readonly createdAt: Date
}

export type Pausable = Pick<WorkItem, 'itemType' | 'concurrencyKey' | 'callerIdentity'>

export function holds(pause: PauseScope, item: Pausable): boolean {
  return (
    (pause.itemType ?? item.itemType) === item.itemType &&
    (pause.callerIdentity ?? item.callerIdentity) === item.callerIdentity &&
    (pause.concurrencyKey === null || isSameKey(pause.concurrencyKey, item.concurrencyKey))
  )
}

/** An operator types it, and GitLab ignores the case of a project. */
function isSameKey(one: string, other: string | null): boolean {
  return one.toLowerCase() === other?.toLowerCase()
}
