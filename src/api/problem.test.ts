import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isProblemCode, PROBLEMS } from './problem.ts'

const SRC = join(import.meta.dirname, '..')

/** Rooms whose errors can end a request. What the others throw reaches nobody but an operator or the queue. */
const ROOMS = ['api', 'auth', 'events', 'queue', 'lib']

/** Thrown inside these rooms, but never on the way of a request, or defects that a caller sees as internal_error. */
const NOT_FOR_CALLERS = [
  ...['lease_lost', 'not_json', 'detail_missing', 'unreadable_item'],
  // What ends an action stands in the item's last_error.
  'action_timed_out',
]

function codesIn(room: string): string[] {
  const files = readdirSync(join(SRC, room), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  return sources.flatMap((name) => {
    const text = readFileSync(join(SRC, room, name), 'utf8')
    return [...text.matchAll(/(?:new WorkQueueError|super)\(\s*'([a-z0-9_]+)'/g)].map(([, code]) => code ?? '')
  })
}

test('every code that a request can end with has a status and a title', () => {
  const codes = [...new Set(ROOMS.flatMap(codesIn))]
  expect(codes).toEqual(expect.arrayContaining(['work_item_not_found', 'submission_rejected', 'unauthenticated']))
  expect(codes.filter((code) => !isProblemCode(code) && !NOT_FOR_CALLERS.includes(code))).toEqual([])
})

test('no inherited name is taken for a code', () => {
  expect(['constructor', '__proto__', 'toString', ''].filter(isProblemCode)).toEqual([])
})

test('every problem is an error, and says what to do in one sentence', () => {
  for (const { status, title, help } of Object.values(PROBLEMS)) {
    expect(status).toBeGreaterThanOrEqual(400)
    expect(title).not.toMatch(/\.$/)
    expect(help).toMatch(/\.$/)
  }
})
