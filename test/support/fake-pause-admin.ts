/** Pauses in memory: listed, made and ended, and nothing is held by them. */
import { v7 as uuidv7 } from 'uuid'
import { WorkQueueError } from '../../src/lib/errors.ts'
import type { Pause, PauseScope } from '../../src/queue/pause.ts'
import type { PauseAdmin } from '../../src/queue/pause-admin.ts'

export class FakePauseAdmin implements PauseAdmin {
  #pauses: readonly Pause[] = []

  async list(): Promise<readonly Pause[]> {
    return this.#pauses
  }

  async get(id: string): Promise<Pause> {
    const found = this.#pauses.find((pause) => pause.id === id)
    if (found === undefined) throw new WorkQueueError('pause_not_found', `There is no pause ${id}.`)
    return found
  }

  async pause(scope: PauseScope, reason: string, caller: string): Promise<{ pause: Pause; isNew: boolean }> {
    const pause = { id: uuidv7(), ...scope, reason, createdBy: caller, createdAt: new Date() }
    this.#pauses = [...this.#pauses, pause]
    return { pause, isNew: true }
  }

  async resume(id: string): Promise<Pause> {
    const pause = await this.get(id)
    this.#pauses = this.#pauses.filter((other) => other !== pause)
    return pause
  }
}
