/**
 * What is waited for after the merge: a build of each configured component (decision 0076). One dimension for each, put off
 * until its time is up; an event sets it. Pure: what is known, and what follows from it.
 */
import type { Dimension } from '../../queue/dimension.ts'
import type { MrProjectConfig } from './config.ts'
import { NEEDS_BUILD } from './dimensions.ts'

export type Component = MrProjectConfig['components'][number]

/** What is known of one component's build. */
export interface Build {
  readonly outcome: 'waiting' | 'succeeded' | 'failed' | 'timed_out'
  /** For people; null while nothing is known. */
  readonly message: string | null
  readonly url: string | null
  /** When it stands like this since, and when it is no longer waited for; ISO 8601. */
  readonly since: string
  readonly until: string
}

export type Builds = Readonly<Record<string, Build>>

/** A note of an event on the dimension of a component: what to tell people, and where to look, if anybody has said where. */
export function noteOf(message: string, url: string | null): string {
  return url === null ? message : `${message} ${url}`
}

function readNote(note: string): { readonly message: string; readonly url: string | null } {
  const [, message = note, url = null] = /^(.*) (https?:\S+)$/.exec(note) ?? []
  return { message, url }
}

/**
 * What has become of a build, from its dimension. A note is the word of an event, and its status says which: settled, or due
 * at once. Without one it is put off until its time is up, or was settled here. A failed one may be mended by a newer run.
 */
export function observeBuild(build: Build, row: Dimension | undefined, now: Date): Build {
  const since = now.toISOString()
  if (row?.note)
    return { ...build, outcome: row.status === 'false' ? 'succeeded' : 'failed', ...readNote(row.note), since }
  if (build.outcome !== 'waiting' || new Date(build.until) > now) return build
  return { ...build, outcome: 'timed_out', message: 'no event has told in time how it ended', since }
}

/** How the item ends; null: some build is still under way. */
export function judgeBuilds(
  builds: Builds,
  components: readonly Component[],
): { readonly failing: readonly (readonly [string, Build])[]; readonly fails: boolean } | null {
  const entries = Object.entries(builds)
  if (entries.some(([, { outcome }]) => outcome === 'waiting')) return null
  const failing = entries.filter(([, { outcome }]) => outcome !== 'succeeded')
  const policyOf = (name: string) => components.find((component) => component.name === name)
  const fails = failing.some(([name, { outcome }]) => {
    const policy = policyOf(name)
    // One that is no longer configured decides nothing any more.
    return policy !== undefined && policy[outcome === 'failed' ? 'on_failure' : 'on_timeout'] === 'fail'
  })
  return { failing, fails }
}

/** `build of widgets-main: failed: …`. */
export function describeBuild(name: string, { outcome, message }: Build): string {
  const words = {
    waiting: 'is awaited',
    succeeded: 'has succeeded',
    failed: 'has failed',
    timed_out: 'was not told of',
  }
  return `the build of ${name} ${words[outcome]}${message === null ? '' : ` (${message})`}`
}

export function rowOf(dimensions: readonly Dimension[], component: string): Dimension | undefined {
  return dimensions.find(({ dimension, variant }) => dimension === NEEDS_BUILD && variant === component)
}
