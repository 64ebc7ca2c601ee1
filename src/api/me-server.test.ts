/** The login bridge behind a proxy as the documentation sets it up: a small one that strips and sets the headers. */
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AuditEntry } from '../audit/entry.ts'
import type { Authentication } from '../auth/authentication.ts'
import { callerName } from '../auth/caller-name.ts'
import { IdentityProviderUnavailable } from '../auth/unavailable.ts'
import { silentLog } from '../lib/log.ts'
import { createMeServer } from './me-server.ts'

const ANN = `sha256~${'a'.repeat(43)}`
const STRANGER = `sha256~${'z'.repeat(43)}`

let app: ReturnType<typeof createMeServer>
let entries: AuditEntry[]
let isDown: boolean

beforeEach(() => {
  entries = []
  isDown = false
  const authenticate = async ([header = '']: readonly string[]): Promise<Authentication> => {
    if (isDown) throw new IdentityProviderUnavailable('openshift', 'no answer', 5_000)
    if (header !== `Bearer ${ANN}`) return { identity: null, reason: 'unknown_token', rules: [] }
    const credential = { kind: 'openshift', issuer: 'https://api', expiresAt: null } as const
    return { identity: { name: callerName('openshift', 'ann') ?? '', grants: [], credential } }
  }
  const audit = { record: (entry: AuditEntry) => void entries.push(entry) }
  app = createMeServer({ authenticator: { authenticate }, audit, log: silentLog })
})
afterEach(() => app.close())

const get = (headers: Record<string, string>) => app.inject({ url: '/me', headers })

describe('GET /me', () => {
  test('hands the forwarded token to the page of the service, and to nobody who could keep it', async () => {
    const answer = await get({ 'x-forwarded-access-token': ANN, 'sec-fetch-site': 'same-origin' })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({ access_token: ANN, caller: 'openshift:ann' })
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      vary: 'Cookie',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
    })
    expect(Object.keys(answer.headers).filter((name) => /^access-control|^etag$|^set-cookie$/.test(name))).toEqual([])
    expect(entries).toMatchObject([{ action: 'me', outcome: 'allowed', caller: 'openshift:ann' }])
    expect(JSON.stringify(entries)).not.toContain(ANN)
  })

  test.each<[string, Record<string, string>, number]>([
    ['without a token', {}, 401],
    ['with a bearer token of its own', { authorization: `Bearer ${ANN}` }, 401],
    ['with a token of another shape', { 'x-forwarded-access-token': 'eyJ.eyJ.x' }, 401],
    ['with a token that the cluster does not know', { 'x-forwarded-access-token': STRANGER }, 401],
    ['from another site', { 'x-forwarded-access-token': ANN, 'sec-fetch-site': 'cross-site' }, 403],
    ['from a neighbour of its site', { 'x-forwarded-access-token': ANN, 'sec-fetch-site': 'same-site' }, 403],
    ['for somebody else', { 'x-forwarded-access-token': ANN, 'x-forwarded-email': 'bob@cluster.local' }, 403],
    ['for a namesake elsewhere', { 'x-forwarded-access-token': ANN, 'x-forwarded-email': 'ann@a.example' }, 403],
    ['for the user by name', { 'x-forwarded-access-token': ANN, 'x-forwarded-email': 'ann' }, 200],
    ['for the user of the cluster', { 'x-forwarded-access-token': ANN, 'x-forwarded-email': 'ann@cluster.local' }, 200],
    ['with a name that counts for nothing', { 'x-forwarded-access-token': ANN, 'x-forwarded-user': 'bob' }, 200],
  ])('asked %s: %j → %i', async (_title, headers, status) => {
    const answer = await get(headers)
    expect(answer.statusCode).toBe(status)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(entries).toHaveLength(1)
    if (status !== 200) expect(answer.body).not.toContain(ANN)
  })

  test('says that it cannot tell while the cluster is away', async () => {
    isDown = true
    const answer = await get({ 'x-forwarded-access-token': ANN })
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5'])
  })

  test.each(['POST', 'HEAD', 'OPTIONS', 'PUT'] as const)('is not there for %s, and nothing else is', async (method) => {
    const headers = { 'x-forwarded-access-token': ANN }
    expect((await app.inject({ method, url: '/me', headers })).statusCode).toBe(404)
    for (const url of ['/', '/me/', '/ME', '/api/v1/work-items', '/healthz']) {
      expect((await app.inject({ url, headers })).statusCode).toBe(404)
    }
  })
})

/**
 * The proxy of the documentation, in small: a session cookie stands for a login; what a client sends of the headers that the
 * proxy sets is dropped before its own are set.
 */
async function startProxy(target: string) {
  const sessions: Readonly<Record<string, string>> = { 'session=ann': ANN }
  const server = createServer((incoming, outgoing) => {
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).filter(([name]) => !name.startsWith('x-forwarded-') && name !== 'authorization'),
    )
    const token = sessions[incoming.headers.cookie ?? '']
    const forwarded =
      token === undefined ? {} : { 'x-forwarded-access-token': token, 'x-forwarded-email': 'ann@cluster.local' }
    const upstream = httpRequest(`${target}${incoming.url}`, {
      method: incoming.method,
      headers: { ...headers, ...forwarded },
    })
    upstream.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(upstream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

test('behind the proxy only the session counts, whatever headers a client writes itself', async () => {
  const proxy = await startProxy(await app.listen({ host: '127.0.0.1', port: 0 }))
  const loggedIn = await fetch(`${proxy.url}/me`, { headers: { cookie: 'session=ann', connection: 'close' } })
  expect(await loggedIn.json()).toMatchObject({ access_token: ANN })
  const forged = { 'x-forwarded-access-token': ANN, 'x-forwarded-email': 'ann@cluster.local', connection: 'close' }
  expect((await fetch(`${proxy.url}/me`, { headers: forged })).status).toBe(401)
  proxy.close()
})
