/** Projects: create, read, list, change settings, rename, move, archive, remove; their members and labels. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import { DEVELOPER, MAINTAINER, OWNER, requireProject, requireUser } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { frameworkError, notFound, refusal } from '../errors.ts'
import { branchHead } from '../git/repository.ts'
import { paginate } from '../pagination.ts'
import { flag, integer, numberParam, rawParams, readParams, text } from '../params.ts'
import { presentProject } from '../present/project.ts'
import { presentUser } from '../present/user.ts'
import { createProject, setDefaultBranch } from '../projects.ts'
import type { Project } from '../state.ts'

const settings = z.object({
  default_branch: text.optional(),
  description: text.optional(),
  merge_method: z.enum(['merge', 'rebase_merge', 'ff']).optional(),
  squash_option: z.enum(['never', 'always', 'default_on', 'default_off']).optional(),
  only_allow_merge_if_pipeline_succeeds: flag.optional(),
  allow_merge_on_skipped_pipeline: flag.optional(),
  only_allow_merge_if_all_discussions_are_resolved: flag.optional(),
  merge_pipelines_enabled: flag.optional(),
  remove_source_branch_after_merge: flag.optional(),
  approvals_before_merge: integer.optional(),
  merge_requests_access_level: z.enum(['disabled', 'private', 'enabled']).optional(),
})

const change = settings.extend({ path: text.optional() })

const creation = settings.extend({
  name: text.optional(),
  path: text.optional(),
  namespace_id: text.optional(),
  initialize_with_readme: flag.optional(),
})

function applySettings(project: Project, given: z.infer<typeof settings>): void {
  project.description = given.description ?? project.description
  project.mergeMethod = given.merge_method ?? project.mergeMethod
  project.squashOption = given.squash_option ?? project.squashOption
  project.onlyAllowMergeIfPipelineSucceeds =
    given.only_allow_merge_if_pipeline_succeeds ?? project.onlyAllowMergeIfPipelineSucceeds
  project.allowMergeOnSkippedPipeline = given.allow_merge_on_skipped_pipeline ?? project.allowMergeOnSkippedPipeline
  project.onlyAllowMergeIfAllDiscussionsAreResolved =
    given.only_allow_merge_if_all_discussions_are_resolved ?? project.onlyAllowMergeIfAllDiscussionsAreResolved ?? false
  project.mergePipelinesEnabled = given.merge_pipelines_enabled ?? project.mergePipelinesEnabled ?? false
  project.removeSourceBranchAfterMerge = given.remove_source_branch_after_merge ?? project.removeSourceBranchAfterMerge
  project.approvalsRequired = given.approvals_before_merge ?? project.approvalsRequired
  if (given.merge_requests_access_level) {
    project.mergeRequestsEnabled = given.merge_requests_access_level !== 'disabled'
  }
}

/** A namespace is made by being named, or it is the group of this number. */
function namespaceOf(context: SandboxContext, given: string | undefined): string | undefined {
  if (given === undefined || !/^\d+$/.test(given)) return given
  const group = context.findGroup(given)
  if (!group) throw notFound('Namespace')
  return group.fullPath
}

function namespaceParts(project: Project): string[] {
  return project.pathWithNamespace.split('/').slice(0, -1)
}

/** The old path goes on leading here, until another project takes it. */
function move(context: SandboxContext, project: Project, to: string): void {
  const from = project.pathWithNamespace
  if (to === from) return
  if (context.findProject(to)) throw refusal(400, { path: ['has already been taken'] })
  const former = [...(project.formerPaths ?? []), from.toLowerCase()]
  project.formerPaths = former.filter((path) => path !== to.toLowerCase())
  project.pathWithNamespace = to
  context.save()
}

function presentMember(context: SandboxContext, project: Project, id: number) {
  const user = context.findUser(id)
  const level = project.members[id]
  if (!user || level === undefined) return null
  return {
    ...presentUser(context, user),
    access_level: level,
    created_at: project.createdAt,
    expires_at: null,
    membership_state: 'active',
  }
}

function registerMembers(app: FastifyInstance, context: SandboxContext): void {
  for (const list of ['/api/v4/projects/:id/members', '/api/v4/projects/:id/members/all']) {
    app.get(list, async (request, reply) => {
      const { project } = requireProject(request, context)
      const members = Object.keys(project.members).map((id) => presentMember(context, project, Number(id)))
      return paginate(
        request,
        reply,
        context.externalUrl,
        members.filter((member) => member !== null),
      )
    })
    app.get(`${list}/:user_id`, async (request) => {
      const { project } = requireProject(request, context)
      const member = presentMember(context, project, numberParam(request, 'user_id'))
      if (!member) throw notFound()
      return member
    })
  }
  app.post('/api/v4/projects/:id/members', async (request, reply) => {
    const { project } = requireProject(request, context, MAINTAINER)
    const given = readParams(request, z.object({ user_id: integer, access_level: integer }))
    if (!context.findUser(given.user_id)) throw notFound('User')
    if (project.members[given.user_id] !== undefined) throw refusal(409, 'Member already exists')
    project.members[given.user_id] = given.access_level
    context.save()
    return reply.code(201).send(presentMember(context, project, given.user_id))
  })
  app.put('/api/v4/projects/:id/members/:user_id', async (request) => {
    const { project } = requireProject(request, context, MAINTAINER)
    const id = numberParam(request, 'user_id')
    const given = readParams(request, z.object({ access_level: integer }))
    if (project.members[id] === undefined) throw notFound()
    project.members[id] = given.access_level
    context.save()
    return presentMember(context, project, id)
  })
  app.delete('/api/v4/projects/:id/members/:user_id', async (request, reply) => {
    const { project } = requireProject(request, context, MAINTAINER)
    const id = numberParam(request, 'user_id')
    if (project.members[id] === undefined) throw notFound()
    delete project.members[id]
    context.save()
    return noContent(reply)
  })
}

export function noContent(reply: FastifyReply): FastifyReply {
  return reply.code(204).send()
}

/** Where a project goes and how it ends. */
function registerLifecycle(app: FastifyInstance, context: SandboxContext): void {
  app.put('/api/v4/projects/:id/transfer', async (request) => {
    const { project, user } = requireProject(request, context, OWNER)
    const { namespace } = readParams(request, z.object({ namespace: text }))
    const name = project.pathWithNamespace.split('/').at(-1) ?? ''
    move(context, project, `${namespaceOf(context, namespace)}/${name}`)
    return presentProject(context, project, user)
  })
  app.delete('/api/v4/projects/:id', async (request, reply) => {
    const { project } = requireProject(request, context, OWNER)
    // What still runs in it may end; nobody sees it any more.
    context.state.projects = context.state.projects.filter((candidate) => candidate !== project)
    context.save()
    return reply.code(202).send({ message: '202 Accepted' })
  })
  app.post('/api/v4/projects/:id/archive', async (request, reply) => {
    const { project, user } = requireProject(request, context, OWNER)
    project.archived = true
    context.save()
    return reply.code(201).send(presentProject(context, project, user))
  })
  app.post('/api/v4/projects/:id/unarchive', async (request, reply) => {
    const { project, user } = requireProject(request, context, OWNER)
    project.archived = false
    context.save()
    return reply.code(201).send(presentProject(context, project, user))
  })
}

function registerLabels(app: FastifyInstance, context: SandboxContext): void {
  app.get('/api/v4/projects/:id/labels', async (request, reply) => {
    const { project } = requireProject(request, context)
    const labels = project.labels.toSorted().map((name) => ({
      id: project.labels.indexOf(name) + 1,
      name,
      color: '#6699cc',
      text_color: '#FFFFFF',
      description: null,
      subscribed: false,
      priority: null,
      is_project_label: true,
    }))
    return paginate(request, reply, context.externalUrl, labels)
  })
  app.post('/api/v4/projects/:id/labels', async (request, reply) => {
    const { project } = requireProject(request, context, DEVELOPER)
    const { name } = readParams(request, z.object({ name: text }))
    if (project.labels.includes(name)) throw refusal(409, 'Label already exists')
    project.labels.push(name)
    context.save()
    return reply.code(201).send({ id: project.labels.length, name, color: '#6699cc', description: null })
  })
}

export function registerProjectRoutes(app: FastifyInstance, context: SandboxContext): void {
  app.post('/api/v4/projects', async (request, reply) => {
    const user = requireUser(request, context)
    const given = readParams(request, creation)
    const path = given.path ?? given.name?.toLowerCase().replace(/[^a-z0-9._-]+/g, '-')
    if (!path) throw frameworkError('name, path are missing, at least one parameter must be provided')
    const fullPath = `${namespaceOf(context, given.namespace_id) ?? user.username}/${path}`
    if (context.findProject(fullPath))
      throw refusal(400, { path: ['has already been taken'], name: ['has already been taken'] })
    const project = await createProject(context, {
      path: fullPath,
      defaultBranch: given.default_branch ?? 'main',
      members: { [user.id]: OWNER },
      ...(given.initialize_with_readme ? { files: { 'README.md': `# ${given.name ?? path}\n` } } : {}),
    })
    applySettings(project, given)
    context.save()
    return reply.code(201).send(presentProject(context, project, user))
  })
  app.get('/api/v4/projects', async (request, reply) => {
    const user = requireUser(request, context)
    const { search, membership } = rawParams(request)
    const projects = context.state.projects
      .filter((project) => context.accessLevel(project, user) > 0)
      .filter((project) => membership !== 'true' || project.members[user.id] !== undefined)
      .filter(
        ({ pathWithNamespace }) =>
          typeof search !== 'string' || pathWithNamespace.toLowerCase().includes(search.toLowerCase()),
      )
      .toReversed()
    return paginate(request, reply, context.externalUrl, projects).map((project) =>
      presentProject(context, project, user),
    )
  })
  app.get('/api/v4/projects/:id', async (request) => {
    const { project, user } = requireProject(request, context)
    return presentProject(context, project, user)
  })
  app.put('/api/v4/projects/:id', async (request) => {
    const { project, user } = requireProject(request, context, MAINTAINER)
    const given = readParams(request, change)
    if (given.default_branch !== undefined && given.default_branch !== project.defaultBranch) {
      if ((await branchHead(context.git(project), given.default_branch)) === null) {
        throw refusal(400, { base: [`Could not change HEAD: branch '${given.default_branch}' does not exist`] })
      }
      await setDefaultBranch(context, project, given.default_branch)
    }
    applySettings(project, given)
    if (given.path !== undefined) move(context, project, [...namespaceParts(project), given.path].join('/'))
    context.save()
    return presentProject(context, project, user)
  })
  registerLifecycle(app, context)
  registerLabels(app, context)
  registerMembers(app, context)
}
