import { expect, test } from 'vitest'
import { isConnectionError } from './connection-error.ts'

const coded = (code: string, message = 'whatever') => Object.assign(new Error(message), { code })

test.each<[string, unknown, boolean]>([
  ['a refused connection', coded('ECONNREFUSED'), true],
  [
    'a refused connection to a name with two addresses',
    Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }),
    true,
  ],
  ['a missing socket', Object.assign(coded('ENOENT'), { syscall: 'connect' }), true],
  ['a missing file', Object.assign(coded('ENOENT'), { syscall: 'open' }), false],
  ['a name that is not resolved', coded('ENOTFOUND'), true],
  ['a connection failure that PostgreSQL reports', coded('08006'), true],
  ['what a pooler says when it waited too long', coded('08P01', 'query_wait_timeout'), true],
  ['a shutdown by the administrator', coded('57P01'), true],
  ['a crash of another backend', coded('57P02'), true],
  ['a server that is starting up', coded('57P03'), true],
  ['too many connections', coded('53300'), true],
  ['an exhausted pool', new Error('timeout exceeded when trying to connect'), true],
  ['a connection that ended', new Error('Connection terminated unexpectedly'), true],
  ['a statement that this side stopped waiting for', new Error('Query read timeout'), true],
  ['a pool that is being closed', new Error('Cannot use a pool after calling end on the pool'), true],
  ['a unique violation', coded('23505'), false],
  ['a deadlock', coded('40P01'), false],
  ['a statement with a parameter too few', coded('08P01', 'bind message supplies 1 parameters, but …'), false],
  ['a dropped database', coded('57P04'), false],
  ['an error of the program', new TypeError('x is not a function'), false],
  ['no error at all', 'ECONNREFUSED', false],
])('%s', (_title, error, expected) => expect(isConnectionError(error)).toBe(expected))
