/** Service accounts of the cluster that the service runs in. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock, startAuth, type TestAuth, type TestClock } from '../../test/support/oidc-auth.ts'
import { startTestCluster, type TestCluster } from '../../test/support/oidc-cluster.ts'
import { answers, unreachable } from '../../test/support/oidc-provider.ts'

const KEYS = '/openid/v1/jwks'
const DISCOVERY = '/.well-known/openid-configuration'
const RULES = [
  {
    name: 'team-a',
    issuer: 'k8s',
    claims: { aud: 'workqueue', '/kubernetes.io/namespace': 'team-a' },
    permissions: ['submit'],
  },
]

/** Stands in for time between two looks at the cluster: the test sees each pause begin, and ends it. */
function createPauses() {
  const begun: number[] = []
  let wake = () => {}
  let hear = () => {}
  return {
    begun,
    sleep: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        begun.push(ms)
        wake = resolve
        signal.addEventListener('abort', () => resolve())
        hear()
      }),
    /** Ends the pause, and answers when the next begins. */
    async next() {
      const heard = new Promise<void>((resolve) => {
        hear = resolve
      })
      wake()
      await heard
    },
  }
}

let clock: TestClock
let cluster: TestCluster
let pauses: ReturnType<typeof createPauses>
let auth: TestAuth

beforeEach(async () => {
  clock = createTestClock()
  cluster = await startTestCluster()
  pauses = createPauses()
  auth = startAuth({ rules: RULES }, clock, { place: cluster.place, sleep: pauses.sleep, timeoutMs: 1_000 })
})
afterEach(async () => {
  auth.service.stop()
  expect(auth.logged.join('\n')).not.toMatch(/own-|eyJ/)
  await cluster.close()
})

async function start(): Promise<void> {
  const begun = pauses.next()
  auth.service.start()
  await begun
}

const valid = (claims: object = {}) => cluster.token(clock.now(), claims)

describe('a service account', () => {
  test('is known by namespace and name, under the issuer that the cluster says', async () => {
    await start()
    const { identity } = await auth.authenticate(valid())
    expect(identity).toMatchObject({ name: 'k8s:team-a:bot', grants: [{ rule: 'team-a' }] })
    expect(cluster.asked).toEqual([`${DISCOVERY} own-1`, `${KEYS} own-1`])
  })

  test.each<[string, object, string]>([
    ['of another namespace', { 'kubernetes.io': { namespace: 'team-b' } }, 'forbidden'],
    ['with flat claims', { 'kubernetes.io': undefined, 'kubernetes.io/namespace': 'team-a' }, 'forbidden'],
    ['for the API server', { aud: ['https://kubernetes.default.svc'] }, '401: foreign_audience'],
    ['for a year', { exp: 1_900_000_000 }, '401: lives_too_long'],
    ['that is none', { sub: 'team-a:bot' }, '401: nameless'],
    ['with a name of more parts', { sub: 'system:serviceaccount:team-a:bot:x' }, '401: nameless'],
    ['of an issuer that nobody vouches for', { iss: 'https://kubernetes.default.svc' }, '401: unknown_issuer'],
  ])('%s is answered as it deserves', async (_title, claims, outcome) => {
    await start()
    expect(await auth.outcome(valid(claims))).toBe(outcome)
  })
})

describe('the cluster', () => {
  test('is asked with the token that lies there now', async () => {
    await start()
    await cluster.rotateToken('own-2')
    expect(await auth.outcome(valid())).toBe('allowed: team-a')
    expect(cluster.asked.at(-1)).toBe(`${KEYS} own-2`)
  })

  test('with another certificate is not shown the token', async () => {
    const other = await startTestCluster()
    const place = { directory: other.place.directory, apiUrl: cluster.place.apiUrl }
    const fooled = startAuth({ rules: RULES }, clock, { place, sleep: pauses.sleep })
    const begun = pauses.next()
    fooled.service.start()
    await begun
    expect(await fooled.outcome(valid())).toBe('503')
    expect(cluster.asked).toEqual([])
    expect(fooled.logged.join()).toContain('CERT')
    fooled.service.stop()
    await other.close()
  })

  test.each([
    'https://10.0.0.1:6443/keys?x=1',
    'https://oidc.example//10.0.0.1/keys',
    'https://u:p@10.0.0.1/openid/v1/jwks',
  ])('that names %s for its keys is asked for them at its own address', async (address) => {
    cluster.document.jwks_uri = address
    await start()
    expect(await auth.outcome(valid())).toBe('allowed: team-a')
    expect(cluster.asked.at(-1)).toBe(`${KEYS} own-1`)
  })

  test('that is away at the start is asked again and again, and till then nobody can say', async () => {
    cluster.fault = unreachable
    await start()
    expect(await auth.outcome(valid())).toBe('503')
    await pauses.next()
    cluster.fault = answers(403, { kind: 'Status' })
    await pauses.next()
    expect(await auth.outcome(valid())).toBe('503')
    cluster.fault = null
    await pauses.next()
    expect(await auth.outcome(valid())).toBe('allowed: team-a')
    expect(pauses.begun.slice(0, 3).every((ms) => ms <= 4_000)).toBe(true)
    expect(pauses.begun.at(-1)).toBe(3_600_000)
  })

  test('that goes away later leaves what it said, and a new issuer replaces the old', async () => {
    await start()
    cluster.fault = unreachable
    await pauses.next()
    cluster.fault = null
    const old = valid()
    expect(await auth.outcome(old)).toBe('allowed: team-a')
    cluster.document.issuer = 'https://oidc.example/id/4712/'
    await pauses.next()
    expect(await auth.outcome(valid())).toBe('allowed: team-a')
    expect(await auth.outcome(old)).toBe('401: unknown_issuer')
  })
})

describe('outside of a cluster', () => {
  const outside = { directory: '/nonexistent', apiUrl: 'https://127.0.0.1:1' }

  test('its rules are left out, with one warning that names them', async () => {
    const groups = { name: 'people', groups: ['x'], permissions: ['read'] }
    const other = startAuth({ rules: [...RULES, groups] }, clock, { place: outside })
    other.service.start()
    expect(other.logged).toHaveLength(1)
    expect(other.logged[0]).toMatch(/not in a cluster.*team-a.*people/)
    expect(await other.outcome(valid())).toBe('401: unknown_issuer')
    expect(await other.outcome(`sha256~${'a'.repeat(43)}`)).toBe('401: unknown_token')
  })
})

test('people of OpenShift are looked up in the cluster the service runs in, with their own token', async () => {
  const token = `sha256~${'p'.repeat(43)}`
  const rules = [{ name: 'people', groups: ['leads'], permissions: ['read'] }]
  const other = startAuth({ rules }, clock, { place: cluster.place })
  cluster.fault = answers(200, { kind: 'User', metadata: { name: 'ann' }, groups: ['leads'] })
  expect(await other.outcome(token)).toBe('allowed: people')
  expect(cluster.asked).toEqual([`/apis/user.openshift.io/v1/users/~ ${token}`])
})
