/**
 * How requests are read: JSON bodies strictly (lib/json-input), everything else with the route's zod schemas, all faults
 * at once. A route whose body somebody else reads, such as an item type, keeps its schema for the documentation only.
 */
import { z } from 'zod'
import { parseJson, unstorableText } from '../lib/json-input.ts'
import { readShape } from '../lib/read-shape.ts'
import { RequestRefused } from './classify-error.ts'
import type { Api } from './routes/route.ts'

/** JSON and nothing else; also for routes that take no body, so that all of them answer alike. */
export function acceptJsonBodies(app: Api): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: unknown, bytes: Buffer) => {
    if (bytes.length === 0) return undefined
    const body = parseJson(bytes)
    const findings = unstorableText(body)
    if (findings.length > 0) throw new RequestRefused(findings)
    return body
  })
}

const WHOLE: Readonly<Record<string, string>> = { querystring: 'the query', params: 'the path', body: 'the body' }

/** As Fastify calls it; loosely typed there, so that a schema is checked to be one. */
interface PartOfRequest {
  readonly schema: unknown
  readonly httpPart?: string
}

export function validatorCompiler({ schema, httpPart }: PartOfRequest) {
  if (!(schema instanceof z.ZodType)) throw new TypeError('a route has a schema that is not one of zod')
  return (data: unknown) => {
    const repeated = httpPart === 'querystring' ? repeatedKeys(data) : []
    if (repeated.length > 0) return { error: new RequestRefused(repeated) }
    const reading = readShape(schema, data, WHOLE[httpPart ?? ''] ?? 'the request')
    return reading.ok ? { value: reading.value } : { error: new RequestRefused(reading.findings) }
  }
}

/** For routes whose body is read elsewhere. */
export function validatorCompilerButBody(part: PartOfRequest) {
  return part.httpPart === 'body' ? (data: unknown) => ({ value: data }) : validatorCompiler(part)
}

export const noQuery = z.strictObject({})

/** @throws RequestRefused when a route that takes no body got one: what it asks for would be ignored silently. */
export function refuseBody(body: unknown): void {
  if (body === undefined || body === null) return
  if (typeof body === 'object' && !Array.isArray(body) && Object.keys(body).length === 0) return
  throw new RequestRefused([
    { code: 'unknown_field', path: '', message: 'This operation takes no body; send the request without one.' },
  ])
}

function repeatedKeys(query: unknown) {
  return Object.entries(query ?? {})
    .filter(([, value]) => Array.isArray(value))
    .map(([key]) => ({
      code: 'repeated',
      path: `/${key.slice(0, 60)}`,
      message: `"${key.slice(0, 60)}" is given more than once in the query; give it once.`,
    }))
}
