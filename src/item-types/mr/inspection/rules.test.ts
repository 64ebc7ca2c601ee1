import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { INSPECTION_DOCS, renderInspectionDocs } from '../../../../scripts/inspection-docs.ts'
import { mrConfigSchema } from '../config.ts'
import { finding, RULES, type Rule } from './rules.ts'

const rules: readonly (readonly [string, Rule])[] = Object.entries(RULES)

test('docs/inspection.md says what the rules say; `node scripts/inspection-docs.ts` writes it', async () => {
  expect(await readFile(INSPECTION_DOCS, 'utf8')).toBe(renderInspectionDocs())
})

test.each(rules)('%s is told in whole sentences', (_code, { refuses, sentence, mend }) => {
  for (const text of [refuses, mend]) expect(text).toMatch(/^[A-Z].*\.$/s)
  expect(sentence).toMatch(/^[A-Z].*(\.|\{message\})$/s)
})

test('every key that changes a rule is one of the configuration', () => {
  const schema = JSON.stringify(z.toJSONSchema(mrConfigSchema, { io: 'input', unrepresentable: 'any' }))
  const names = new Set(rules.flatMap(([, { keys }]) => keys.flatMap((key) => key.split('.').slice(1))))
  expect([...names].filter((name) => !schema.includes(`"${name.replace('[]', '')}"`))).toEqual([])
})

test('a finding is filled in once: a fact that looks like a slot stays what it is', () => {
  expect(finding('path_twice', '/x', { path: '{other}', other: '/y' }).message).toBe(
    'The path {other} is named twice (also at /y); one action a path, ignoring case.',
  )
})
