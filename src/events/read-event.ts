/**
 * From a body that arrived, over whichever way, to an event. A body is a webhook body of GitLab (`object_kind`) or a
 * PipelineRun of Tekton (`kind`), told apart by what it says itself: which headers or attributes a relay keeps is its own
 * affair. What comes out is a hint from a sender that nobody trusts.
 */
import { z } from 'zod'
import { MAX_JSON_DEPTH } from '../lib/json-input.ts'
import type { IncomingEvent } from '../queue/item-type.ts'
import { eventTimeOf } from './event-time.ts'

const PIPELINE_RUN = 'pipeline_run'

const bodySchema = z.union([
  z.looseObject({ object_kind: z.string().regex(/^[a-z_]{1,64}$/) }).transform((body) => body.object_kind),
  z
    .looseObject({ kind: z.literal('PipelineRun'), apiVersion: z.string().startsWith('tekton.dev/') })
    .transform(() => PIPELINE_RUN),
])

/** As events that Tekton itself sends hold it. */
const wrapperSchema = z.looseObject({ pipelineRun: z.looseObject({ kind: z.literal('PipelineRun') }) })

/** null: it is none of the kinds there are, or nested deeper than any event. */
export function readEvent(outer: unknown, sourceId: string | null, now: Date): IncomingEvent | null {
  const wrapper = wrapperSchema.safeParse(outer)
  const body = wrapper.success ? wrapper.data.pipelineRun : outer
  const reading = bodySchema.safeParse(body)
  if (!reading.success || isTooDeep(body, 0)) return null
  const stored = storable(body)
  return { eventType: reading.data, eventAt: eventTimeOf(reading.data, stored, now), body: stored, sourceId }
}

function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth >= MAX_JSON_DEPTH || Object.values(value).some((entry) => isTooDeep(entry, depth + 1))
}

/**
 * What jsonb can keep: PostgreSQL refuses NUL and lone surrogates, and an event it refuses would come again for ever.
 * Titles and notes are people's text, so they are mended and not refused.
 */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return mended(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(storable)
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [mended(key), storable(entry)]))
}

function mended(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}
