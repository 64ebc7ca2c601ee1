/**
 * The API of a Kubernetes cluster as far as it vouches for service accounts: over TLS with a certificate of its own, for
 * callers that show the service's token, with a discovery document that names an address which no pod can reach.
 */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClusterPlace } from '../../src/auth/cluster.ts'
import { createSelfSigned } from './oidc-certificate.ts'
import { forge, rs256 } from './oidc-forgery.ts'
import type { Fault } from './oidc-provider.ts'

export interface TestCluster {
  readonly place: ClusterPlace
  /** `path token` of every question. */
  readonly asked: string[]
  /** What the discovery document says. */
  readonly document: { issuer: string; jwks_uri: string }
  fault: Fault
  /** The service's own token, as the kubelet replaces it. */
  rotateToken(token: string): Promise<void>
  /** A service account's token. */
  token(now: Date, claims?: object): string
  close(): Promise<void>
}

export async function startTestCluster(): Promise<TestCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-cluster-'))
  const { certificate, key } = createSelfSigned()
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'sa', alg: 'RS256', use: 'sig' }]
  const asked: string[] = []
  let ownToken = ''
  const rotateToken = async (token: string) => {
    ownToken = token
    await writeFile(join(directory, 'token'), `${token}\n`)
  }
  await writeFile(join(directory, 'ca.crt'), certificate)
  await rotateToken('own-1')

  const server = createServer({ key, cert: certificate }, (request, response) => {
    const token = request.headers.authorization?.replace('Bearer ', '')
    asked.push(`${request.url} ${token}`)
    if (cluster.fault !== null) return cluster.fault(response)
    const body =
      token !== ownToken
        ? { status: 401 }
        : request.url === '/.well-known/openid-configuration'
          ? cluster.document
          : request.url === '/openid/v1/jwks'
            ? { keys }
            : { status: 403 }
    response.writeHead('status' in body ? body.status : 200).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const cluster: TestCluster = {
    place: { directory, apiUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}` },
    asked,
    document: { issuer: 'https://oidc.example/id/4711', jwks_uri: 'https://10.0.0.1:6443/openid/v1/jwks' },
    fault: null,
    rotateToken,
    token(now, claims = {}) {
      const seconds = Math.floor(now.getTime() / 1_000)
      const payload = {
        ...{ iss: cluster.document.issuer, sub: 'system:serviceaccount:team-a:bot', aud: ['workqueue'] },
        ...{ iat: seconds, nbf: seconds, exp: seconds + 3_600 },
        'kubernetes.io': { namespace: 'team-a', serviceaccount: { name: 'bot', uid: '1-2-3' } },
        ...claims,
      }
      return forge({ alg: 'RS256', kid: 'sa' }, payload, rs256(privateKey))
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      await rm(directory, { recursive: true })
    },
  }
  return cluster
}
