import { createHmac } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { webhookConfigSchema } from './config.ts'
import { eventTimeOf, parseGitLabTime } from './event-time.ts'
import { isOurs, mayBeOurs, readWebhook } from './webhook.ts'

const NOON = new Date('2026-12-01T12:00:00Z')
const SECRET = 'a-secret-of-enough-length'
const KEY = Buffer.alloc(32, 7)
const SIGNING_SECRET = `whsec_${KEY.toString('base64')}`
const BODY = Buffer.from('{"object_kind":"push"}')

function signed({ id = 'msg-1', at = NOON, key = KEY, body = BODY } = {}) {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` }
}

describe('a webhook with a secret token', () => {
  test('is ours when the token is the secret', () => {
    expect(isOurs({ 'x-gitlab-token': SECRET }, BODY, SECRET, NOON)).toBe(true)
  })

  test.each([
    ['no token', {}],
    ['an empty token', { 'x-gitlab-token': '' }],
    ['another token', { 'x-gitlab-token': `${SECRET}x` }],
    ['two tokens', { 'x-gitlab-token': [SECRET, SECRET] }],
    ['a signature of somebody', signed()],
  ])('is not ours with %s', (_title, headers) => {
    expect(mayBeOurs(headers, SECRET)).toBe(false)
    expect(isOurs(headers, BODY, SECRET, NOON)).toBe(false)
  })
})

describe('a signed webhook', () => {
  test('is ours when the signature covers exactly this body', () => {
    expect(isOurs(signed(), BODY, SIGNING_SECRET, NOON)).toBe(true)
    expect(isOurs(signed(), Buffer.from('{"object_kind":"note"}'), SIGNING_SECRET, NOON)).toBe(false)
  })

  test('is ours when one of several signatures fits, as while a token is rotated', () => {
    const headers = signed()
    const rotated = { ...headers, 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` }
    expect(isOurs(rotated, BODY, SIGNING_SECRET, NOON)).toBe(true)
  })

  test.each([
    ['another key', signed({ key: Buffer.alloc(32, 8) })],
    ['another id', { ...signed(), 'webhook-id': 'msg-2' }],
    ['a signature six minutes old', signed({ at: new Date(NOON.getTime() - 6 * 60_000) })],
    ['a signature from the future', signed({ at: new Date(NOON.getTime() + 6 * 60_000) })],
    ['no time', { ...signed(), 'webhook-timestamp': undefined }],
    ['a time that is no number', { ...signed(), 'webhook-timestamp': 'NaN' }],
    ['the plain secret instead', { 'x-gitlab-token': SIGNING_SECRET }],
  ])('is not ours with %s', (_title, headers) => {
    expect(isOurs(headers, BODY, SIGNING_SECRET, NOON)).toBe(false)
  })
})

describe('reading a delivery', () => {
  const read = (body: string, headers = {}) => readWebhook(headers, Buffer.from(body), NOON)

  test('makes what people wrote storable', () => {
    const event = read('{"object_kind":"note","object_attributes":{"note":"a\\u0000b\\ud800","k\\u0000":["\\u0000"]}}')
    expect(event.body).toEqual({ object_kind: 'note', object_attributes: { note: 'ab\ufffd', k: [''] } })
  })

  test('takes the id that stays the same when GitLab repeats a delivery', () => {
    const headers = { 'x-gitlab-event-uuid': 'e', 'x-gitlab-webhook-uuid': 'w' }
    expect(read('{"object_kind":"push"}', { ...headers, 'idempotency-key': 'i' }).sourceId).toBe('i')
    expect(read('{"object_kind":"push"}', headers).sourceId).toBe('e:w')
    expect(read('{"object_kind":"push"}').sourceId).toBeNull()
  })

  test.each([
    ['no JSON', '{', 'malformed_json'],
    ['no object', '[]', 'webhook_not_understood'],
    ['no kind', '{"event_name":"repository_update"}', 'webhook_not_understood'],
    ['a kind that is no word', '{"object_kind":"<b>"}', 'webhook_not_understood'],
    [
      'hostile nesting',
      `{"object_kind":"push","x":${'['.repeat(9_999)}${']'.repeat(9_999)}}`,
      'webhook_not_understood',
    ],
  ])('refuses %s', (_title, body, code) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code }))
  })
})

describe('event times', () => {
  test.each([
    ['2026-03-02 10:02:20 UTC', '2026-03-02T10:02:20.000Z'],
    ['2026-03-02 12:02:20 +0200', '2026-03-02T10:02:20.000Z'],
    ['2026-03-02T10:02:20Z', '2026-03-02T10:02:20.000Z'],
    ['2026-03-02T12:02:20.5+02:00', '2026-03-02T10:02:20.500Z'],
  ])('reads %s', (text, time) => {
    expect(parseGitLabTime(text)?.toISOString()).toBe(time)
  })

  test.each(['soon', '2026-13-40 10:02:20 UTC', '', 7, null, undefined])('does not take %j for a time', (value) => {
    expect(parseGitLabTime(value)).toBeNull()
  })

  test('are those of arrival when the body says none', () => {
    expect(eventTimeOf('push', { object_kind: 'push' }, NOON)).toBe(NOON)
  })
})

describe('the webhook configuration', () => {
  test('takes a long secret and a signing token', () => {
    expect(webhookConfigSchema.safeParse({ secret: SECRET }).success).toBe(true)
    expect(webhookConfigSchema.safeParse({ secret: SIGNING_SECRET }).success).toBe(true)
  })

  test.each([{}, { secret: 'short' }, { secret: 'whsec_not base64 at all' }])('refuses %j and says how', (config) => {
    expect(webhookConfigSchema.safeParse(config).error?.message).toMatch(/openssl rand|whole token/)
  })
})

const SAMPLES = join(import.meta.dirname, '../../../shared/gitlab-events')

describe.skipIf(!existsSync(SAMPLES))('the sample deliveries', () => {
  const files = existsSync(SAMPLES)
    ? readdirSync(SAMPLES).filter((name) => /^(merge|pipeline|build|note|push).*json$/.test(name))
    : []

  test.each(files)('%s is understood, and has its own time unless it is a push', (name) => {
    const event = readWebhook({}, readFileSync(join(SAMPLES, name)), NOON)
    expect(name.startsWith(event.eventType)).toBe(true)
    expect(event.eventAt < NOON).toBe(event.eventType !== 'push')
  })
})
