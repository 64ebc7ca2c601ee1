/**
 * A GitLab port whose calls go wrong on demand, each in one of the ways that matter: refused, done with the answer lost, done
 * with the answer too late, and stopped before it began. A plan holds for the next call of its method only.
 */
import { GitLabError } from '../../src/gitlab/errors.ts'
import type { GitLab } from '../../src/gitlab/port.ts'

export type GitLabMethod = keyof GitLab
type Arguments = readonly unknown[]
type Alteration = (given: Arguments) => Arguments | Promise<Arguments>

export interface FaultPlans {
  /** The next call of this method fails with this error, and does nothing. */
  refuse(method: GitLabMethod, error: Error): void
  /** The next call of this method is made, but its answer never arrives. */
  loseAnswer(method: GitLabMethod): void
  /** The next call of this method is made, but by the time of its answer the lease is lost: no further call may be made. */
  answerLate(method: GitLabMethod): void
  /** The next call of this method is still on its way when the lease is lost; it arrives when `landHeld` says so. */
  hold(method: GitLabMethod): void
  /** Answers what GitLab made of the held call. */
  landHeld(): Promise<unknown>
  /** Before the next call of this method the process stops: no call of that run may reach GitLab. */
  stopBefore(method: GitLabMethod): void
  /** Before the next call of this method something happens, and it is made with the arguments that come of it. */
  alter(method: GitLabMethod, change: Alteration): void
  /** The next call of this method answers this instead of GitLab. */
  answer(method: GitLabMethod, value: unknown): void
}

export interface FaultyGitLab {
  readonly gitlab: GitLab
  /** Names of all calls so far, in order. */
  readonly calls: readonly GitLabMethod[]
  readonly plans: FaultPlans
  /** Aborted when the process is to stop; a fresh one for each run. */
  nextSignal(): AbortSignal
}

type Fault =
  | { readonly kind: 'refuse'; readonly error: Error }
  | { readonly kind: 'lose' | 'late' | 'hold' | 'stop' }
  | { readonly kind: 'answer'; readonly value: unknown }

export function createFaultyGitLab(real: GitLab): FaultyGitLab {
  const planned = new Map<GitLabMethod, Fault>()
  const alterations = new Map<GitLabMethod, Alteration[]>()
  const calls: GitLabMethod[] = []
  let held: (() => Promise<unknown>) | null = null
  let stopping = new AbortController()

  const forward = (method: GitLabMethod, args: Arguments) =>
    (real[method] as (...given: Arguments) => Promise<unknown>)(...args)
  const lost = () => new GitLabError('gitlab_timeout', 'GitLab did not answer in time', { failure: 'transient' })

  async function call(method: GitLabMethod, args: Arguments): Promise<unknown> {
    const fault = planned.get(method)
    planned.delete(method)
    if (fault?.kind === 'refuse') throw fault.error
    if (fault?.kind === 'answer') return fault.value
    if (fault?.kind === 'stop' || fault?.kind === 'hold') stopping.abort()
    if (fault?.kind === 'hold') {
      // Without the signal that was aborted: the request has left the process.
      held = () => forward(method, [...args.slice(0, -1), {}])
      throw lost()
    }
    calls.push(method)
    const changes = alterations.get(method) ?? []
    alterations.delete(method)
    let given = args
    for (const change of changes) given = await change(given)
    const answer = await forward(method, given)
    if (fault?.kind === 'late') stopping.abort()
    if (fault?.kind !== 'lose' && fault?.kind !== 'late') return answer
    throw lost()
  }

  const plan = (method: GitLabMethod, fault: Fault) => void planned.set(method, fault)
  return {
    calls,
    gitlab: new Proxy(real, {
      get:
        (_target, method: GitLabMethod) =>
        (...args: Arguments) =>
          call(method, args),
    }),
    plans: {
      refuse: (method, error) => plan(method, { kind: 'refuse', error }),
      loseAnswer: (method) => plan(method, { kind: 'lose' }),
      answerLate: (method) => plan(method, { kind: 'late' }),
      hold: (method) => plan(method, { kind: 'hold' }),
      async landHeld() {
        const land = held
        held = null
        if (land === null) throw new Error('no call is held')
        return land()
      },
      stopBefore: (method) => plan(method, { kind: 'stop' }),
      answer: (method, value) => plan(method, { kind: 'answer', value }),
      alter: (method, change) => void alterations.set(method, [...(alterations.get(method) ?? []), change]),
    },
    nextSignal() {
      if (stopping.signal.aborted) stopping = new AbortController()
      return stopping.signal
    },
  }
}
