import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonPointer, readShape } from './read-shape.ts'

const schema = z.strictObject({
  name: z.string().min(2),
  kind: z.enum(['a', 'b']).optional(),
  files: z.array(z.strictObject({ 'a/b~c': z.number().max(3) })).optional(),
  even: z
    .number()
    .refine((value) => value % 2 === 0, { message: 'must be even', params: { code: 'odd_number' } })
    .optional(),
})

function findings(input: unknown) {
  const reading = readShape(schema, input, 'the body')
  return reading.ok ? [] : reading.findings
}

describe('readShape', () => {
  test('tells a hundred faults of a hundred thousand, and no key at length', () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key-${index}`, 1]))
    expect(findings({ name: 'ok', ...many })).toHaveLength(100)
    const [long] = findings({ name: 'ok', ['k'.repeat(10_000)]: 1 })
    expect(long?.path.length).toBeLessThan(100)
  })

  test('answers with the value when nothing is wrong', () => {
    expect(readShape(schema, { name: 'ok' })).toEqual({ ok: true, value: { name: 'ok' } })
  })

  test.each([
    ['a missing field', {}, 'required', '/name', '"name" is required.'],
    ['a wrong type', { name: 7 }, 'invalid_type', '/name', '"name" must be a string, but is a number.'],
    ['a short text', { name: 'x' }, 'too_small', '/name', '"name" must have at least 2 characters.'],
    ['a wrong word', { name: 'ok', kind: 'c' }, 'invalid_value', '/kind', '"kind" must be one of a, b.'],
    [
      'an unknown field',
      { name: 'ok', nam: 1 },
      'unknown_field',
      '/nam',
      '"nam" is not a known field; remove it or correct its name.',
    ],
    [
      'a fault deep inside',
      { name: 'ok', files: [{ 'a/b~c': 9 }] },
      'too_big',
      '/files/0/a~1b~0c',
      '"files[0].a/b~c" must be at most 3.',
    ],
    ['a check with a code of its own', { name: 'ok', even: 3 }, 'odd_number', '/even', 'must be even'],
    ['something else entirely', null, 'invalid_type', '', 'the body must be an object, but is null.'],
    ['nothing', undefined, 'required', '', 'the body is required.'],
  ])('names %s', (_title, input, code, path, message) => {
    expect(findings(input)).toEqual([{ code, path, message }])
  })

  test('reports all faults at once', () => {
    expect(findings({ kind: 'c', files: {}, extra: 1 }).map((finding) => finding.path)).toEqual([
      '/name',
      '/kind',
      '/files',
      '/extra',
    ])
  })

  test('never quotes what was sent', () => {
    expect(JSON.stringify(findings({ name: 5, kind: 'hunter2' }))).not.toContain('hunter2')
  })
})

test('jsonPointer escapes as RFC 6901 says', () => {
  expect(jsonPointer(['a/b', 0, '~'])).toBe('/a~1b/0/~0')
})

test('a wrong word that decides about the other fields is answered with the right ones', () => {
  const actions = z.discriminatedUnion('action', [
    z.strictObject({ action: z.literal('create') }),
    z.strictObject({ action: z.literal('delete') }),
  ])
  expect(readShape(actions, { action: 'creat' })).toMatchObject({
    findings: [{ path: '/action', message: '"action" must be one of create, delete.' }],
  })
})
