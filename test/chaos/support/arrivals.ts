/**
 * What was written to GitLab, by whom, and when the request for it had arrived. A process that is killed or stopped leaves
 * requests on their way, and nobody can call those back: what it may be blamed for is what arrived after its lease was gone.
 * The sandbox runs in this process, so each request carries its arrival along to whatever it sets off.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { ZERO_SHA } from '../../../sandbox/gitlab/git/repository.ts'
import type { RunningSandbox } from '../../../sandbox/gitlab/sandbox.ts'

export interface Arrival {
  readonly kind: string
  readonly branch: string
  /** User name. */
  readonly user: string
  readonly arrivedAtMs: number
}

export interface Arrivals {
  readonly list: readonly Arrival[]
  end(): void
}

const CHANNEL = 'http.server.request.start'

export function recordArrivals({ context }: RunningSandbox): Arrivals {
  const request = new AsyncLocalStorage<number>()
  const arrived = () => request.enterWith(Date.now())
  subscribe(CHANNEL, arrived)
  const list: Arrival[] = []

  function add(kind: string, branch: string, userId: number): void {
    const user = context.findUser(userId)?.username ?? String(userId)
    list.push({ kind, branch, user, arrivedAtMs: request.getStore() ?? Date.now() })
  }

  context.signals.on('push', ({ branch, after, userId }) => {
    add(after === ZERO_SHA ? 'delete_branch' : 'push', branch, userId)
  })
  context.signals.on('merge_request', ({ action, mergeRequest, userId, oldrev }) => {
    // The request has seen its branch move; the push itself is in the list.
    if (oldrev === undefined) add(action, mergeRequest.sourceBranch, userId)
  })
  return { list, end: () => void unsubscribe(CHANNEL, arrived) }
}
