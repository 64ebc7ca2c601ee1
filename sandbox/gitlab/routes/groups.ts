/** Groups: make, read and remove one, and its members, direct ones and all. They are private: strangers get 404. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { OWNER, requireUser } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { forbidden, notFound, refusal } from '../errors.ts'
import { createGroup, groupLevel, groupsAbove } from '../groups.ts'
import { paginate } from '../pagination.ts'
import { integer, numberParam, pathParam, readParams, text } from '../params.ts'
import { presentUser } from '../present/user.ts'
import type { Group, User } from '../state.ts'
import { noContent } from './projects.ts'

/** Members see it, and so does who sees a project in it. */
function maySee(context: SandboxContext, group: Group, user: User): boolean {
  if (user.admin || groupLevel(context.state, group, user.id) > 0) return true
  const inside = (path: string) => path.toLowerCase().startsWith(`${group.fullPath.toLowerCase()}/`)
  return context.state.projects.some(
    (project) => inside(project.pathWithNamespace) && context.accessLevel(project, user) > 0,
  )
}

function requireGroup(request: FastifyRequest, context: SandboxContext, minimumLevel = 0): Group {
  const user = requireUser(request, context)
  const group = context.findGroup(pathParam(request, 'id'))
  if (!group || !maySee(context, group, user)) throw notFound('Group')
  if (!user.admin && groupLevel(context.state, group, user.id) < minimumLevel) throw forbidden()
  return group
}

function presentGroup(context: SandboxContext, group: Group) {
  const path = group.fullPath.split('/').at(-1) ?? ''
  return {
    id: group.id,
    name: path,
    path,
    description: '',
    visibility: 'private',
    full_name: group.fullPath.split('/').join(' / '),
    full_path: group.fullPath,
    parent_id: groupsAbove(context.state, group.fullPath).at(-1)?.id ?? null,
    web_url: `${context.externalUrl}/groups/${group.fullPath}`,
    avatar_url: null,
  }
}

function presentMember(context: SandboxContext, userId: number, level: number) {
  const user = context.findUser(userId)
  if (!user || level === 0) return null
  return {
    ...presentUser(context, user),
    access_level: level,
    created_at: user.createdAt,
    expires_at: null,
    membership_state: 'active',
  }
}

function registerMembers(app: FastifyInstance, context: SandboxContext): void {
  const direct = '/api/v4/groups/:id/members'
  const lists = [
    { path: direct, groups: (group: Group) => [group] },
    { path: `${direct}/all`, groups: (group: Group) => [group, ...groupsAbove(context.state, group.fullPath)] },
  ]
  for (const { path, groups } of lists) {
    const levelOf = (group: Group, userId: number) =>
      Math.max(...groups(group).map(({ members }) => members[userId] ?? 0))
    app.get(path, async (request, reply) => {
      const group = requireGroup(request, context)
      const ids = new Set(groups(group).flatMap(({ members }) => Object.keys(members).map(Number)))
      const members = [...ids].map((id) => presentMember(context, id, levelOf(group, id)))
      return paginate(
        request,
        reply,
        context.externalUrl,
        members.filter((member) => member !== null),
      )
    })
    app.get(`${path}/:user_id`, async (request) => {
      const group = requireGroup(request, context)
      const id = numberParam(request, 'user_id')
      const member = presentMember(context, id, levelOf(group, id))
      if (!member) throw notFound()
      return member
    })
  }
  app.post(direct, async (request, reply) => {
    const group = requireGroup(request, context, OWNER)
    const given = readParams(request, z.object({ user_id: integer, access_level: integer }))
    if (!context.findUser(given.user_id)) throw notFound('User')
    if (group.members[given.user_id] !== undefined) throw refusal(409, 'Member already exists')
    group.members[given.user_id] = given.access_level
    context.save()
    return reply.code(201).send(presentMember(context, given.user_id, given.access_level))
  })
  app.delete(`${direct}/:user_id`, async (request, reply) => {
    const group = requireGroup(request, context, OWNER)
    const id = numberParam(request, 'user_id')
    if (group.members[id] === undefined) throw notFound()
    delete group.members[id]
    context.save()
    return noContent(reply)
  })
}

export function registerGroupRoutes(app: FastifyInstance, context: SandboxContext): void {
  app.post('/api/v4/groups', async (request, reply) => {
    const user = requireUser(request, context)
    const given = readParams(request, z.object({ name: text, path: text, parent_id: integer.nullish() }))
    const parent = given.parent_id == null ? null : context.findGroup(given.parent_id)
    if (given.parent_id != null && (!parent || !maySee(context, parent, user))) throw notFound('Group')
    if (parent && !user.admin && groupLevel(context.state, parent, user.id) < OWNER) throw forbidden()
    const fullPath = parent ? `${parent.fullPath}/${given.path}` : given.path
    if (context.findGroup(fullPath)) {
      throw refusal(400, 'Failed to save group {:path=>["has already been taken"]}')
    }
    // Who makes a group inside another is its owner already.
    const group = createGroup(context, { fullPath, ...(parent ? {} : { members: { [user.id]: OWNER } }) })
    return reply.code(201).send(presentGroup(context, group))
  })
  app.get('/api/v4/groups/:id', async (request) => presentGroup(context, requireGroup(request, context)))
  app.delete('/api/v4/groups/:id', async (request, reply) => {
    const group = requireGroup(request, context, OWNER)
    const stays = (path: string) => !`${path}/`.toLowerCase().startsWith(`${group.fullPath}/`.toLowerCase())
    context.state.groups = context.state.groups.filter(({ fullPath }) => stays(fullPath))
    context.state.projects = context.state.projects.filter(({ pathWithNamespace }) => stays(pathWithNamespace))
    context.save()
    return reply.code(202).send({ message: '202 Accepted' })
  })
  registerMembers(app, context)
}
