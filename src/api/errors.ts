/**
 * Every way a request can fail ends here in one shape, the problem document: what a route threw, what the framework
 * refused, an address that does not exist, and bytes that are no HTTP at all.
 */
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { PROBLEM_MEDIA_TYPE } from '../contract/problem.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { classifyError } from './classify-error.ts'
import { PROBLEMS, type ProblemCode, problemDocument } from './problem.ts'

/** Answers with the problem document for anything that was thrown while `request` was served. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): FastifyReply {
  const { code, detail, findings, retryAfterSeconds, unexpected } = classifyError(error, bodyLimitOf(request))
  const requestId = request.id
  if (unexpected) {
    log.error(
      { request_id: requestId, code, error: messageOf(error), stack: error instanceof Error ? error.stack : undefined },
      'a request failed',
    )
  }
  if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
  if (code === 'unauthenticated') reply.header('www-authenticate', challengeFor(error))
  const path = request.url.split('?', 1)[0] ?? ''
  const document = problemDocument({ code, detail, requestId, path, ...(findings ? { findings } : {}) })
  return reply
    .code(PROBLEMS[code].status)
    .header('content-type', PROBLEM_MEDIA_TYPE)
    .serializer((payload) => JSON.stringify(payload))
    .send(document)
}

/** Bytes that Node refused to read as HTTP; there is no request and no reply, only the socket. */
export function answerClientError(error: FastifyError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const code = CLIENT_ERRORS[error.code] ?? 'invalid_request'
  const { status, title, help } = PROBLEMS[code]
  const body = JSON.stringify(problemDocument({ code, detail: help, requestId: 'none' }))
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\ncontent-type: ${PROBLEM_MEDIA_TYPE}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

const CLIENT_ERRORS: Readonly<Record<string, ProblemCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
}

/** RFC 6750: an error only where a token was sent; and the same one for every cause. */
function challengeFor(error: unknown): string {
  const presented = error instanceof WorkQueueError && error.facts['token_presented'] === true
  return `Bearer realm="workqueue-service"${presented ? ', error="invalid_token"' : ''}`
}

function bodyLimitOf(request: FastifyRequest): number {
  return request.routeOptions.bodyLimit
}
