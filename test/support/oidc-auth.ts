/** An authenticator under a clock that the test holds, with a log that remembers, and how it is asked. */
import {
  type Authentication,
  type AuthenticationService,
  type AuthenticatorOptions,
  createAuthenticator,
} from '../../src/auth/authenticator.ts'
import { authConfigSchema } from '../../src/auth/config.ts'
import { IdentityProviderUnavailable } from '../../src/auth/unavailable.ts'
import type { Log } from '../../src/lib/log.ts'

export interface TestClock {
  now(): Date
  monotonicMs(): number
  advance(ms: number): void
}

export function createTestClock(): TestClock {
  const start = Date.parse('2026-12-01T12:00:00Z')
  let passed = 0
  return {
    now: () => new Date(start + passed),
    monotonicMs: () => 1_000_000 + passed,
    advance(ms) {
      passed += ms
    },
  }
}

export interface TestAuth {
  readonly service: AuthenticationService
  /** Everything that was logged, as text. */
  readonly logged: string[]
  authenticate(token: string): Promise<Authentication>
  /** `allowed: names of rules`, `forbidden`, `401: reason` or `503`. */
  outcome(token: string): Promise<string>
}

export function startAuth(config: unknown, clock: TestClock, options: Partial<AuthenticatorOptions> = {}): TestAuth {
  const logged: string[] = []
  const keep = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }
  const service = createAuthenticator(authConfigSchema.parse(config), { clock, log, ...options })
  const authenticate = (token: string) => service.authenticate([`Bearer ${token}`])
  return {
    service,
    logged,
    authenticate,
    async outcome(token) {
      try {
        const result = await authenticate(token)
        if (result.identity === null) return `401: ${result.reason}`
        const { grants } = result.identity
        return grants.length === 0 ? 'forbidden' : `allowed: ${grants.map(({ rule }) => rule).join(' ')}`
      } catch (error) {
        if (error instanceof IdentityProviderUnavailable) return '503'
        throw error
      }
    },
  }
}
