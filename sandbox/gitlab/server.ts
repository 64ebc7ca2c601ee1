/**
 * The HTTP server of the sandbox: Fastify set up to read requests as GitLab's framework does (JSON, forms and multipart
 * into one bag of parameters, `key[]` as lists, long encoded path segments), with GitLab's error shapes.
 */
import Fastify, { type FastifyInstance } from 'fastify'
import type { Log } from '../../src/lib/log.ts'
import { ApiError, frameworkError, installErrorHandling } from './errors.ts'

const BODY_LIMIT = 300 * 1024 * 1024

/** As Rack's limit: what is nested deeper is nobody's parameter. */
const MAX_DEPTH = 32

/** Puts `value` where a key such as `actions[][file_path]` or `labels[]` says. */
function assign(target: Record<string, unknown>, key: string, value: unknown): void {
  const [, head = key, rest = ''] = /^([^[\]]+)((?:\[[^\]]*\])*)$/.exec(key) ?? []
  const parts = [...rest.matchAll(/\[([^\]]*)\]/g)].map((match) => match[1] ?? '')
  const [first, second] = parts
  if (parts.length > MAX_DEPTH) return
  if (first === undefined) {
    target[head] = value
    return
  }
  if (first !== '') {
    target[head] ??= {}
    const inner = target[head] as Record<string, unknown>
    assign(
      inner,
      `${first}${parts
        .slice(1)
        .map((part) => `[${part}]`)
        .join('')}`,
      value,
    )
    return
  }
  const list = (Array.isArray(target[head]) ? target[head] : []) as unknown[]
  target[head] = list
  if (second === undefined) {
    list.push(value)
    return
  }
  // A repeated key starts the next element, as Rack reads forms.
  const last = list.at(-1) as Record<string, unknown> | undefined
  const element = last && !(second in last) ? last : {}
  if (element !== last) list.push(element)
  assign(element, second, value)
}

function parseForm(text: string): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [key, value] of new URLSearchParams(text)) assign(result, key, value)
  return result
}

async function parseMultipart(body: Buffer, contentType: string): Promise<Record<string, unknown>> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  const result: Record<string, unknown> = {}
  for (const [key, value] of form) {
    assign(result, key, typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer()).toString('utf8'))
  }
  return result
}

function parseJson(text: string, url: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    if (/\/repository\/commits(?:\?|$)/.test(url)) {
      throw new ApiError(400, { message: 'Invalid json', error: 'Invalid json' })
    }
    throw frameworkError('message body does not match declared format')
  }
}

/** A server with parsers and error shapes, without routes. */
export function buildServer(log: Log): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT,
    http: { maxHeaderSize: 65_536 },
    // GitLab's sizes: a path or branch may be some thousand characters once encoded.
    routerOptions: { maxParamLength: 8_192, querystringParser: (text) => parseForm(text) },
    forceCloseConnections: true,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, async (request: { url: string }, body: string) =>
    parseJson(body, request.url),
  )
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_: unknown, body: string) => parseForm(body),
  )
  app.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: { headers: Record<string, unknown> }, body: Buffer) =>
      parseMultipart(body, String(request.headers['content-type'])),
  )
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async () => ({}))
  // GitLab names no charset for JSON, and there are clients that compare the whole header.
  app.addHook('onSend', async (_request, reply, payload) => {
    if (String(reply.getHeader('content-type')).startsWith('application/json'))
      reply.header('content-type', 'application/json')
    return payload
  })
  installErrorHandling(app, log)
  return app
}
