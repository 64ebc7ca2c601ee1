/**
 * GitLab's own response schemas, where a copy of them lies beside the repository. Known gaps of the fixtures, as their
 * README tells: a failed job has a `failure_reason`, runners and notes carry newer keys; so extra keys are allowed in all.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'

const ROOT = fileURLToPath(new URL('../../../shared/gitlab-schemas/', import.meta.url))
const BASE = 'https://gitlab.invalid/schemas/'

/** Whether there is a copy to compare with. */
export const SCHEMAS_PRESENT = existsSync(ROOT)

export type SchemaName =
  | 'branch'
  | 'branches'
  | 'commit/detail'
  | 'commits'
  | 'job'
  | 'merge_request'
  | 'notes'
  | 'pipeline/basic'
  | 'pipeline/detail'
  | 'user/basic'

let compiled: Ajv | null = null

/** Fails the test, naming each place, unless `answer` fits GitLab's schema of that name. */
export function expectToFit(name: SchemaName, answer: unknown): void {
  compiled ??= load()
  const validate = compiled.getSchema(`${BASE}public_api/v4/${name}.json`)
  if (validate === undefined) throw new Error(`there is no schema ${name}`)
  const fits = validate(answer)
  const complaints = (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`)
  expect(fits ? [] : complaints, name).toEqual([])
}

function load(): Ajv {
  // Some fixtures carry stray keys, which the strict mode refuses.
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats.default(ajv)
  for (const file of readdirSync(ROOT, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.json')) continue
    const schema: unknown = JSON.parse(readFileSync(join(ROOT, file), 'utf8'))
    ajv.addSchema(allowingMore(schema) as object, `${BASE}${file}`)
  }
  return ajv
}

function allowingMore(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(allowingMore)
  if (typeof schema !== 'object' || schema === null) return schema
  const kept = Object.entries(schema).filter(([key, value]) => key !== 'additionalProperties' || value !== false)
  return Object.fromEntries(kept.map(([key, value]) => [key, allowingMore(value)]))
}
