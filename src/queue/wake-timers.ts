/**
 * One timer an item, for what this process itself put off: the nearest retry or deferred dimension. A hint like every
 * wake-up; what is lost here the sweep finds.
 */
export interface WakeTimers {
  /** Replaces the item's timer. */
  set(workItemId: string, delayMs: number): void
  clear(workItemId: string): void
  clearAll(): void
}

/** Longer waits are left to the sweep: a timer a day long for each item would only hold memory. */
const LONGEST_TIMER_MS = 3_600_000

export function createWakeTimers(wake: (workItemId: string) => void): WakeTimers {
  const timers = new Map<string, NodeJS.Timeout>()

  function clear(workItemId: string): void {
    clearTimeout(timers.get(workItemId))
    timers.delete(workItemId)
  }

  return {
    set(workItemId, delayMs) {
      clear(workItemId)
      if (delayMs > LONGEST_TIMER_MS) return
      const fire = () => {
        timers.delete(workItemId)
        wake(workItemId)
      }
      // One millisecond late rather than early: an early look would find the dimension still deferred.
      timers.set(workItemId, setTimeout(fire, Math.max(0, Math.ceil(delayMs)) + 1))
    },
    clear,
    clearAll() {
      for (const id of [...timers.keys()]) clear(id)
    },
  }
}
