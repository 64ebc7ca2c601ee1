/**
 * Who asks, and what they may see. Tokens come as `PRIVATE-TOKEN` or `Authorization: Bearer`; only their hashes are kept.
 * A project whose members do not include the user does not exist for them (404, never 403). An archived project takes no
 * writes, and one that moved answers at its old path only where it is.
 */
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { SandboxContext } from './context.ts'
import { type ApiError, forbidden, MovedError, notFound, refusal, unauthorized } from './errors.ts'
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
  const id = pathParam(request, 'id')
  const project = context.findProject(id) ?? context.findMovedProject(id)
  const level = project ? context.accessLevel(project, user) : 0
  if (!project || level === 0) throw notFound('Project')
  if (!context.findProject(id)) throw moved(request, context, project)
  if (level < minimumLevel || (project.archived && changesContent(request))) throw forbidden()
  return { project, user, level }
}

/** Where the project is now: readers are sent there, writers are refused. */
function moved(request: FastifyRequest, context: SandboxContext, project: Project): ApiError {
  if (!isRead(request)) return refusal(405, 'Non GET methods are not allowed for moved projects')
  const below = /^\/api\/v4\/projects\/[^/?]+(.*)$/.exec(request.url)?.[1] ?? ''
  return new MovedError(`${context.externalUrl}/api/v4/projects/${project.id}${below}`)
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** What archiving forbids; whether somebody may merge is asked later, and answered in its own way. */
function changesContent(request: FastifyRequest): boolean {
  const route = request.routeOptions.url ?? ''
  if (isRead(request) || route.endsWith('/merge')) return false
  return /^\/api\/v4\/projects\/:id\/(repository|merge_requests|pipelines?|jobs|statuses|labels)\b/.test(route)
}
