import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../../test/support/api.ts'
import { createApi } from './server.ts'

let api: TestApi

beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

describe('the documentation', () => {
  test('is OpenAPI 3.1, with one body for each item type', async () => {
    const document = (await api.app.inject('/openapi.json')).json()
    expect(document.openapi).toBe('3.1.0')
    const { requestBody, responses } = document.paths['/api/v1/work-items'].post
    const variants = requestBody.content['application/json'].schema.oneOf
    expect(variants.map((variant: { properties: { item_type: unknown } }) => variant.properties.item_type)).toEqual([
      { type: 'string', const: 'note' },
      { type: 'string', const: 'memo' },
    ])
    expect(responses['201'].content['application/json'].schema).toEqual({ $ref: '#/components/schemas/SubmitAnswer' })
    expect(document.paths['/api/v1/webhooks/gitlab'].post.security).toEqual([])
  })

  test('refers to nothing that is missing', async () => {
    const { body } = await api.app.inject('/openapi.json')
    const document = JSON.parse(body)
    for (const [, name] of body.matchAll(/#\/components\/schemas\/(\w+)/g)) {
      expect(document.components.schemas).toHaveProperty(name ?? '')
    }
  })

  test('is a page without scripts and without anything from elsewhere', async () => {
    const answer = await api.app.inject('/docs')
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect(answer.body).not.toMatch(/<script|<img|<link|src=|javascript:/)
    for (const text of ['/api/v1/work-items', 'submission_rejected', 'item_type', 'curl -sS']) {
      expect(answer.body).toContain(text)
    }
  })

  test('has an anchor for everything it links to', async () => {
    const { body } = await api.app.inject('/docs')
    for (const [, anchor] of body.matchAll(/href="#([^"]+)"/g)) expect(body).toContain(`id="${anchor}"`)
  })

  test('escapes what descriptions hold', async () => {
    const { queue, admin, pauses } = api
    const type = queue.itemTypes.get('note')
    if (type === undefined) throw new Error('the note type is missing')
    const hostile = { ...type, submissionSchema: type.submissionSchema.describe('<script>alert(1)</script>') }
    const itemTypes = new Map([['note', hostile]])
    const app = await createApi({
      ...{ authenticator: { authenticate: () => Promise.reject(new Error('unused')) }, audit: { record() {} } },
      ...{
        log: { debug() {}, info() {}, warn() {}, error() {} },
        webhook: null,
        counts: api.counts,
        ready: async () => ({}),
        version: '<i>',
        metrics: null,
      },
      admin,
      pauses,
      queue: Object.create(queue, { itemTypes: { value: itemTypes } }),
    })
    expect((await app.inject('/docs')).body).not.toMatch(/<script|<i>/)
    await app.close()
  })
})
