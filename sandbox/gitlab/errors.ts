/**
 * Refusals as GitLab words them. Routes throw an ApiError; the handler installed here turns it, and everything Fastify
 * itself refuses, into one of GitLab's body shapes: `message` as text, list or object, or the framework's `error`.
 */
import type { FastifyInstance } from 'fastify'
import type { Log } from '../../src/lib/log.ts'

export class ApiError extends Error {
  readonly statusCode: number
  readonly body: unknown

  constructor(statusCode: number, body: unknown) {
    super(`${statusCode} ${JSON.stringify(body)}`)
    this.name = 'ApiError'
    this.statusCode = statusCode
    this.body = body
  }
}

/** GitLab answers a moved project with the plain words of its framework. */
export class MovedError extends ApiError {
  readonly location: string

  constructor(location: string) {
    super(301, `This resource has been moved temporarily to ${location}.`)
    this.name = 'MovedError'
    this.location = location
  }
}

/** `{"message": …}`: a text, a list of texts (409 and 422 of merge requests), or texts by field (validation). */
export function refusal(status: number, message: string | readonly string[] | Readonly<Record<string, unknown>>) {
  return new ApiError(status, { message })
}

/** `{"error": …}`: what the API framework says about parameters. */
export function frameworkError(text: string): ApiError {
  return new ApiError(400, { error: text })
}

function withReason(status: number, text: string, reason?: string): ApiError {
  return refusal(status, reason === undefined ? text : `${text} - ${reason}`)
}

export function badRequest(reason?: string): ApiError {
  return withReason(400, '400 Bad request', reason)
}

export function unauthorized(): ApiError {
  return refusal(401, '401 Unauthorized')
}

export function forbidden(reason?: string): ApiError {
  return withReason(403, '403 Forbidden', reason)
}

/** `404 Not Found`, or `404 Branch Not Found` for a named thing. */
export function notFound(thing?: string): ApiError {
  return refusal(404, thing === undefined ? '404 Not Found' : `404 ${thing} Not Found`)
}

/** A record looked up by its number: GitLab spells this one with a small f. */
export function recordNotFound(): ApiError {
  return refusal(404, '404 Not found')
}

export function methodNotAllowed(): ApiError {
  return refusal(405, '405 Method Not Allowed')
}

function statusOf(error: unknown): number {
  const status = (error as { statusCode?: unknown }).statusCode
  return typeof status === 'number' && status >= 400 ? status : 500
}

export function installErrorHandling(app: FastifyInstance, log: Log): void {
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: '404 Not Found' }))
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof MovedError) reply.header('location', error.location).type('text/plain')
    if (error instanceof ApiError) return reply.code(error.statusCode).send(error.body)
    const status = statusOf(error)
    if (status === 413) return reply.code(413).send({ message: '413 Request Entity Too Large' })
    if (status === 415) return reply.code(415).send({ error: 'The provided content-type is not supported.' })
    if (status < 500) return reply.code(status).send({ error: error instanceof Error ? error.message : 'Bad Request' })
    log.error(
      { method: request.method, url: request.url, error: error instanceof Error ? error.stack : String(error) },
      'sandbox request failed',
    )
    return reply.code(500).send({ message: '500 Internal Server Error' })
  })
}
