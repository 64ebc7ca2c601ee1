/**
 * When an event happened, by its sender's clock. Bodies carry two formats, whole seconds in one of them, and each kind of
 * event keeps its time elsewhere. Where several are there the latest that the sender itself stamped counts; a body that says
 * none gets the time of its arrival. A time that is too old is harmless, one that is too new would make later events
 * look stale: so a running pipeline counts from its creation and not from now.
 */
import { z } from 'zod'

const PLACES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  merge_request: [
    ['object_attributes', 'updated_at'],
    ['object_attributes', 'created_at'],
  ],
  pipeline: [
    ['object_attributes', 'finished_at'],
    ['object_attributes', 'created_at'],
  ],
  build: [['build_finished_at'], ['build_started_at'], ['build_created_at']],
  note: [
    ['object_attributes', 'updated_at'],
    ['object_attributes', 'created_at'],
  ],
  pipeline_run: [
    ['status', 'completionTime'],
    ['status', 'startTime'],
    ['metadata', 'creationTimestamp'],
  ],
}

export function eventTimeOf(eventType: string, body: unknown, now: Date): Date {
  const places = Object.hasOwn(PLACES, eventType) ? PLACES[eventType] : undefined
  for (const place of places ?? []) {
    const time = parseGitLabTime(valueAt(body, place))
    if (time !== null) return time
  }
  return now
}

const iso = z.iso.datetime({ offset: true })

/** `2026-03-02 10:02:20 UTC` or ISO 8601; null when it is neither. */
export function parseGitLabTime(value: unknown): Date | null {
  if (typeof value !== 'string') return null
  const spaced = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) (?:UTC|([+-]\d\d):?(\d\d))$/.exec(value)
  const text = spaced ? `${spaced[1]}T${spaced[2]}${spaced[3] ? `${spaced[3]}:${spaced[4]}` : 'Z'}` : value
  return iso.safeParse(text).success ? new Date(text) : null
}

function valueAt(value: unknown, place: readonly string[]): unknown {
  let current = value
  for (const key of place) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined
    current = (current as Readonly<Record<string, unknown>>)[key]
  }
  return current
}
