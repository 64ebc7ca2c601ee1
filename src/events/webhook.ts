/**
 * A delivery of a GitLab webhook: is it really from our GitLab, and which event is it? It only reads; storing and waking
 * is the queue's. What it returns is a hint from an untrusted sender that nobody may take for the truth. The secret is
 * checked before a byte of the body is parsed.
 *
 * The configured secret decides how a delivery proves itself, so that no sender can choose the weaker way: a signing
 * token (`whsec_…`) means a signature over the body, anything else means the same text in X-Gitlab-Token.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { WorkQueueError } from '../lib/errors.ts'
import { parseJson } from '../lib/json-input.ts'
import type { IncomingEvent } from '../queue/item-type.ts'
import { readEvent } from './read-event.ts'

export type WebhookHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

const SIGNING_PREFIX = 'whsec_'
const SIGNATURE_WINDOW_MS = 5 * 60_000

/** Whether it is worth reading the body: false when the headers alone prove that the sender does not know the secret. */
export function mayBeOurs(headers: WebhookHeaders, secret: string): boolean {
  if (secret.startsWith(SIGNING_PREFIX)) return one(headers, 'webhook-signature') !== null
  const token = one(headers, 'x-gitlab-token')
  // Digests, because timingSafeEqual demands equal lengths and a length tells something too.
  return token !== null && timingSafeEqual(sha256(token), sha256(secret))
}

/** Whether the delivery proves that the sender knows the secret. */
export function isOurs(headers: WebhookHeaders, rawBody: Uint8Array, secret: string, now: Date): boolean {
  if (!secret.startsWith(SIGNING_PREFIX)) return mayBeOurs(headers, secret)
  const id = one(headers, 'webhook-id')
  const timestamp = one(headers, 'webhook-timestamp')
  const signatures = one(headers, 'webhook-signature')
  if (id === null || timestamp === null || signatures === null || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now.getTime() - Number(timestamp) * 1_000) > SIGNATURE_WINDOW_MS) return false
  const key = Buffer.from(secret.slice(SIGNING_PREFIX.length), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(rawBody).digest('base64')
  // While a token is rotated the header carries one signature for each.
  return signatures
    .split(' ')
    .map((signature) => timingSafeEqual(sha256(signature), sha256(`v1,${expected}`)))
    .includes(true)
}

/**
 * @throws WorkQueueError `malformed_json`, `invalid_utf8`, `webhook_not_understood`.
 */
export function readWebhook(headers: WebhookHeaders, rawBody: Uint8Array, now: Date): IncomingEvent {
  const event = readEvent(parseJson(rawBody), sourceIdOf(headers), now)
  if (event !== null) return event
  throw new WorkQueueError(
    'webhook_not_understood',
    'The delivery has no "object_kind" that names an event; send a project or group webhook of GitLab.',
  )
}

/** The same for a repeated delivery, where GitLab says so. */
function sourceIdOf(headers: WebhookHeaders): string | null {
  const key = one(headers, 'idempotency-key') ?? one(headers, 'webhook-id')
  if (key !== null) return key.slice(0, 200)
  // The event's id is shared by every hook that follows from one change; the hook's own id tells them apart.
  const ids = [one(headers, 'x-gitlab-event-uuid'), one(headers, 'x-gitlab-webhook-uuid')].filter((id) => id !== null)
  return ids.length === 0 ? null : ids.join(':').slice(0, 200)
}

/** A header that came exactly once. */
function one(headers: WebhookHeaders, name: string): string | null {
  const value = headers[name]
  return typeof value === 'string' && value !== '' ? value : null
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest()
}
