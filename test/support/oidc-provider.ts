/**
 * An OpenID Connect provider on this machine: oauth2-mock-server issues and publishes, and in front of it stands a door
 * that counts what is asked and can be told to fail, to stall, to lie, or to send the asker elsewhere.
 */
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { OAuth2Issuer, OAuth2Service } from 'oauth2-mock-server'

/** How an answer is spoilt; null: it is not. A function answers in place of the provider. */
export type Fault = ((response: ServerResponse) => void) | null

export interface OidcProvider {
  readonly url: string
  /** Paths in the order in which they were asked. */
  readonly asked: string[]
  readonly faults: { discovery: Fault; keys: Fault }
  readonly issuer: OAuth2Issuer
  /** A token for one hour from the present; null removes a claim. */
  token(claims?: object, header?: object): Promise<string>
  close(): Promise<void>
}

export const KEYS = '/jwks'

export async function startOidcProvider(now: () => Date, kid = 'first'): Promise<OidcProvider> {
  const issuer = new OAuth2Issuer()
  const service = new OAuth2Service(issuer)
  const faults: OidcProvider['faults'] = { discovery: null, keys: null }
  const asked: string[] = []
  const server = await listen((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const fault = path === KEYS ? faults.keys : faults.discovery
    if (fault !== null) fault(response)
    else service.requestHandler(request, response)
  })
  issuer.url = server.url
  await issuer.keys.generate('RS256', { kid })

  return {
    url: server.url,
    asked,
    faults,
    issuer,
    token: (claims = {}, header = {}) =>
      issuer.buildToken({
        scopesOrTransform: (head, payload) => {
          const seconds = Math.floor(now().getTime() / 1_000)
          Object.assign(payload, { iat: seconds, nbf: seconds - 10, exp: seconds + 3_600, sub: 'somebody' })
          Object.assign(payload, { aud: 'workqueue' }, claims)
          for (const [name, value] of Object.entries(claims)) if (value === null) delete payload[name]
          Object.assign(head, header)
        },
      }),
    close: server.close,
  }
}

export const unreachable: Fault = (response) => void response.socket?.destroy()
/** Sends the head of an answer and then nothing more. */
export const stalled: Fault = (response) => void response.writeHead(200).write('{')

export function answers(status: number, body: string | object, headers: Record<string, string> = {}): Fault {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

export interface TestServer {
  readonly url: string
  close(): Promise<void>
}

export async function listen(listener: RequestListener): Promise<TestServer> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
