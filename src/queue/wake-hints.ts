/**
 * Tells other processes that there may be work: at most one empty notification every few milliseconds, however much comes
 * in. NOTIFY makes commits take turns behind a lock of the whole database, so one for each submission would cost the
 * submissions their speed. Only a hint: the sweep finds what no hint announced (decision 0061).
 */

import { messageOf } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'

export interface WakeHints {
  /** There is work that this process does not take at once. True: the caller's own statement carries the hint. */
  ride(): boolean
  /** The same, for a caller without a statement that could carry it. */
  send(): void
  /** This process has let go of an item: it may lie anywhere in the queue. */
  sendReleased(): void
  /** Sends what is still owed, and nothing after it. */
  stop(): Promise<void>
}

export interface WakeHintsOptions {
  readonly notify: (anywhere: boolean) => Promise<void>
  readonly log: Log
  /** Off: nobody listens. */
  readonly enabled: boolean
  readonly intervalMs?: number
}

export function createWakeHints({ notify, log, enabled, intervalMs = 10 }: WakeHintsOptions): WakeHints {
  /** Runs while a hint was given a moment ago. */
  let pause: NodeJS.Timeout | undefined
  /** More work has come during the pause. */
  let owed = false
  let anywhere = false

  function begin(): void {
    pause = setTimeout(() => {
      pause = undefined
      if (owed) give()
    }, intervalMs)
  }

  function give(): void {
    begin()
    void tell()
  }

  async function tell(): Promise<void> {
    const released = anywhere
    owed = false
    anywhere = false
    try {
      await notify(released)
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'other processes could not be told of work; their sweep finds it')
    }
  }

  function send(): void {
    if (!enabled) return
    if (pause === undefined) give()
    else owed = true
  }

  return {
    ride() {
      if (!enabled) return false
      if (pause === undefined) {
        begin()
        return true
      }
      owed = true
      return false
    },
    send,
    sendReleased() {
      anywhere = true
      send()
    },
    async stop() {
      clearTimeout(pause)
      if (owed) await tell()
    },
  }
}
