/**
 * Parameters as GitLab's API framework reads them: query and body are one bag, strings stand in for numbers and booleans,
 * and what does not fit answers 400 with all complaints in one `error` text (`title is missing, state does not have a
 * valid value`).
 */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { frameworkError } from './errors.ts'

const bag = z.record(z.string(), z.unknown()).catch({})

/** Query and body together; a key of the body wins. */
export function rawParams(request: FastifyRequest): Record<string, unknown> {
  return { ...bag.parse(request.query), ...bag.parse(request.body) }
}

/** A part of the path, percent-decoded. */
export function pathParam(request: FastifyRequest, name: string): string {
  return z.record(z.string(), z.string()).parse(request.params)[name] ?? ''
}

/** A number in the path; what is not a number finds no record (NaN equals nothing). */
export function numberParam(request: FastifyRequest, name: string): number {
  const text = pathParam(request, name)
  return /^\d+$/.test(text) ? Number(text) : Number.NaN
}

export const text = z.preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string())

export const integer = z.preprocess(
  (value) => (typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value),
  z.int(),
)

export const flag = z.preprocess((value) => {
  if (value === 'true' || value === '1' || value === 1 || value === 'on') return true
  if (value === 'false' || value === '0' || value === 0 || value === 'off') return false
  return value
}, z.boolean())

/** A point in time in any form JavaScript reads. */
export const time = z.string().refine((value) => !Number.isNaN(Date.parse(value)))

/** `a,b`, `['a', 'b']` or nothing: GitLab takes lists of names in both spellings. */
export const nameList = z.preprocess((value) => {
  if (value === null || value === '') return []
  const parts = Array.isArray(value) ? value.flatMap((part) => String(part).split(',')) : String(value).split(',')
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}, z.array(z.string()))

/** Numbers as a list, one number, or `''`/`0` for none. */
export const idList = z.preprocess((value) => {
  const parts = Array.isArray(value) ? value : String(value ?? '').split(',')
  return parts.map((part) => Number(part)).filter((part) => Number.isInteger(part) && part > 0)
}, z.array(z.int()))

/** Reads the request's parameters with `schema`, or throws the framework's 400. */
export function readParams<Schema extends z.ZodObject>(request: FastifyRequest, schema: Schema): z.infer<Schema> {
  const input = rawParams(request)
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const complaints = result.error.issues.map((issue) => {
    const key = issue.path.map((part, index) => (index === 0 ? String(part) : `[${String(part)}]`)).join('')
    const value = issue.path.reduce<unknown>(
      (at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part],
      input,
    )
    if (value === undefined) return `${key} is missing`
    if (issue.code === 'invalid_value') return `${key} does not have a valid value`
    if (issue.code === 'too_small' && value === '') return `${key} is empty`
    return `${key} is invalid`
  })
  throw frameworkError([...new Set(complaints)].join(', '))
}
