import { describe, expect, test } from 'vitest'
import { readErrorText, readRetryAfter } from './errors.ts'

const NOON = new Date('2026-03-02T12:00:00Z')

describe('readErrorText', () => {
  test.each<[string, string, string]>([
    ['text', '{"message":"404 Project Not Found"}', '404 Project Not Found'],
    ['a list', '{"message":["Another one exists: !3","and more"]}', 'Another one exists: !3, and more'],
    ['fields', '{"message":{"title":["is too long","is odd"],"base":["No"]}}', 'title is too long, is odd, No'],
    ['an application limit', '{"message":{"error":"Too many"}}', 'Too many'],
    ['the framework', '{"error":"title is missing"}', 'title is missing'],
    ['OAuth', '{"error":"invalid_token","error_description":"Token was revoked."}', 'Token was revoked.'],
    ['plain text', 'Retry later\n', 'Retry later'],
    ['a page', '<!DOCTYPE html><title>502</title>', 'an HTML page'],
    ['nothing', '', ''],
    ['JSON that is no object', '"odd"', 'odd'],
  ])('reads %s', (_title, body, text) => {
    expect(readErrorText(body)).toBe(text)
  })

  test('keeps a long text short', () => {
    expect(readErrorText('x'.repeat(10_000)).length).toBeLessThan(600)
  })
})

describe('readRetryAfter', () => {
  test.each<[string | null, number | undefined]>([
    [null, undefined],
    ['5', 5_000],
    ['0', 0],
    ['Mon, 02 Mar 2026 12:00:30 GMT', 30_000],
    ['Mon, 02 Mar 2026 11:00:00 GMT', 0],
    ['999999999', 3_600_000],
    ['soon', undefined],
  ])('reads %s as %s', (header, waitMs) => {
    expect(readRetryAfter(header, NOON)).toBe(waitMs)
  })
})
