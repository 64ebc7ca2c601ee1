import { expect, test } from 'vitest'
import { PROBLEMS } from '../api/problem.ts'
import { EXIT_STATUS, exitStatusOf } from './exit-status.ts'

/** A fault of the program or of the service, or something the command line never asks for. */
const UNEXPECTED = [
  ...['internal_error', 'method_not_allowed', 'uri_too_long', 'unsupported_media_type', 'headers_too_large'],
  ...['request_timeout', 'webhook_not_understood', 'webhook_unauthenticated', 'webhook_not_configured'],
]

test('every problem of the API that a command can meet has an exit status of its own', () => {
  const codes = Object.keys(PROBLEMS).filter((code) => exitStatusOf(code) === EXIT_STATUS.unexpected)
  expect(codes.sort()).toEqual([...UNEXPECTED].sort())
})

test('what nobody foresaw ends with 1', () => {
  expect(['never_heard_of', 'constructor', ''].map(exitStatusOf)).toEqual([1, 1, 1])
})
