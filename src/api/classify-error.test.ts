import { expect, test } from 'vitest'
import { classifyError } from './classify-error.ts'

const coded = (code: string, message = 'whatever') => Object.assign(new Error(message), { code })

test.each<[string, unknown, string]>([
  ['a database that is not there is a reason to come back', coded('ECONNREFUSED'), 'database_unavailable'],
  ['so is one that shuts down', coded('57P01'), 'database_unavailable'],
  ['so is an exhausted pool', new Error('timeout exceeded when trying to connect'), 'database_unavailable'],
  [
    'so is a connection that broke under the statement',
    new Error('Connection terminated unexpectedly'),
    'database_unavailable',
  ],
  ['so is a statement that took too long', coded('57014'), 'database_unavailable'],
  ['a caller who hangs up is not the database', coded('ECONNRESET', 'aborted'), 'invalid_request'],
  ['a text that the database cannot hold is the caller’s', coded('22021'), 'unstorable_value'],
  ['a violated constraint is a fault of ours', coded('23505'), 'internal_error'],
])('%s', (_title, error, code) => {
  const classified = classifyError(error, 1_000)

  expect(classified.code).toBe(code)
  expect(classified.retryAfterSeconds).toBe(code === 'database_unavailable' ? 5 : undefined)
})
