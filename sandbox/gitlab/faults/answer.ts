/**
 * What GitLab, or the proxy before it, says with a failing status: JSON for what the API refuses, plain text and the
 * throttle's headers for 429, a page of HTML where no GitLab has answered at all.
 */
import { STATUS_CODES } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { StatusRule } from './rule.ts'

/** Where GitLab's words are not those of Node. */
const WORDS: Readonly<Record<number, string>> = { 400: 'Bad request', 413: 'Request Entity Too Large' }
/** Statuses that come from the proxy. */
const PROXY = [502, 503, 504]
const RETRY_AFTER_SECONDS = 60

export function sendFault(reply: FastifyReply, { status, headers, body }: StatusRule, now: Date): FastifyReply {
  reply.code(status)
  if (status === 429) reply.headers(throttleHeaders(now, headers))
  reply.headers(headers)
  if (body !== undefined) return typeof body === 'string' ? sendText(reply, body) : reply.send(body)
  if (status === 429) return sendText(reply, 'Retry later\n')
  const words = `${status} ${WORDS[status] ?? STATUS_CODES[status] ?? 'Unknown'}`
  if (!PROXY.includes(status)) return reply.send({ message: words })
  return reply.type('text/html').send(`<html><head><title>${words}</title></head><body>${words}</body></html>\n`)
}

/** As text, unless the rule names another type. */
function sendText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type(String(reply.getHeader('content-type') ?? 'text/plain')).send(text)
}

/** The throttle's headers for a budget that is used up until `retry-after` has passed. */
function throttleHeaders(now: Date, given: StatusRule['headers']): Record<string, string> {
  const wish = Object.entries(given).find(([name]) => name.toLowerCase() === 'retry-after')
  const seconds = wish !== undefined && /^\d+$/.test(wish[1]) ? Number(wish[1]) : RETRY_AFTER_SECONDS
  const reset = Math.ceil(now.getTime() / 1000) + seconds
  return {
    'retry-after': String(seconds),
    'ratelimit-name': 'throttle_authenticated_api',
    'ratelimit-limit': '7200',
    'ratelimit-observed': '7201',
    'ratelimit-remaining': '0',
    'ratelimit-reset': String(reset),
    'ratelimit-resettime': new Date(reset * 1000).toUTCString(),
  }
}
