/**
 * Who asks, and what they may see. Tokens come as `PRIVATE-TOKEN` or `Authorization: Bearer`; only their hashes are kept.
 * A project whose members do not include the user does not exist for them (404, never 403).
 */
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { SandboxContext } from './context.ts'
import { forbidden, notFound, unauthorized } from './errors.ts'
import { pathParam } from './params.ts'
import type { Project, User } from './state.ts'

export const GUEST = 10
export const REPORTER = 20
export const DEVELOPER = 30
export const MAINTAINER = 40
export const OWNER = 50

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** The token of a request, in either header. */
function tokenOf(request: FastifyRequest): string | null {
  const header = request.headers['private-token']
  if (typeof header === 'string' && header !== '') return header
  const bearer = /^Bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? '')
  return bearer?.[1] ?? null
}

/** The user of the request's token, or 401. */
export function requireUser(request: FastifyRequest, context: SandboxContext): User {
  const token = tokenOf(request)
  const user = token === null ? null : context.userOf(token)
  if (!user) throw unauthorized()
  return user
}

export interface ProjectAccess {
  readonly project: Project
  readonly user: User
  readonly level: number
}

/** The project of the route's `:id`, or 401, 404 (missing or not visible), 403 (level too low). */
export function requireProject(request: FastifyRequest, context: SandboxContext, minimumLevel = GUEST): ProjectAccess {
  const user = requireUser(request, context)
  const project = context.findProject(pathParam(request, 'id'))
  const level = project ? context.accessLevel(project, user) : 0
  if (!project || level === 0) throw notFound('Project')
  if (level < minimumLevel) throw forbidden()
  return { project, user, level }
}
