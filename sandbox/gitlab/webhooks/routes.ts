/** Project hooks over REST, for maintainers. The secret token can be set and is never shown. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { MAINTAINER, type ProjectAccess, requireProject } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { ApiError, recordNotFound } from '../errors.ts'
import { paginate } from '../pagination.ts'
import { flag, numberParam, readParams, text } from '../params.ts'
import type { Hook, Project } from '../state.ts'

const settings = z.object({
  token: text.optional(),
  push_events: flag.optional(),
  merge_requests_events: flag.optional(),
  pipeline_events: flag.optional(),
  job_events: flag.optional(),
  note_events: flag.optional(),
})
const newHook = settings.extend({ url: text })
const changedHook = settings.extend({ url: text.optional() })

export function registerHookRoutes(app: FastifyInstance, context: SandboxContext): void {
  const base = '/api/v4/projects/:id/hooks'
  app.get(base, (request, reply) => {
    const { project } = requireProject(request, context, MAINTAINER)
    return paginate(request, reply, context.externalUrl, project.hooks).map((hook) => presentHook(project, hook))
  })
  app.get(`${base}/:hook_id`, (request) => {
    const { project, hook } = findHook(request)
    return presentHook(project, hook)
  })
  app.post(base, (request, reply) => {
    const { project } = requireProject(request, context, MAINTAINER)
    const { url, ...given } = readParams(request, newHook)
    const blank: Hook = {
      id: context.nextId(),
      url: checkedUrl(url),
      token: null,
      mergeRequestsEvents: false,
      pipelineEvents: false,
      jobEvents: false,
      noteEvents: false,
      pushEvents: true,
      createdAt: context.timestamp(),
    }
    const hook = withSettings(blank, given)
    project.hooks.push(hook)
    context.save()
    return reply.code(201).send(presentHook(project, hook))
  })
  app.put(`${base}/:hook_id`, (request) => {
    const { project, hook } = findHook(request)
    const { url, ...given } = readParams(request, changedHook)
    const changed = withSettings({ ...hook, url: url === undefined ? hook.url : checkedUrl(url) }, given)
    project.hooks = project.hooks.map((other) => (other.id === hook.id ? changed : other))
    context.save()
    return presentHook(project, changed)
  })
  app.delete(`${base}/:hook_id`, (request, reply) => {
    const { project, hook } = findHook(request)
    project.hooks = project.hooks.filter((other) => other.id !== hook.id)
    context.save()
    return reply.code(204).send()
  })

  function findHook(request: FastifyRequest): ProjectAccess & { readonly hook: Hook } {
    const access = requireProject(request, context, MAINTAINER)
    const id = numberParam(request, 'hook_id')
    const hook = access.project.hooks.find((candidate) => candidate.id === id)
    if (hook === undefined) throw recordNotFound()
    return { ...access, hook }
  }
}

function checkedUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) throw new ApiError(422, { error: 'Invalid url given' })
  return url
}

function withSettings(hook: Hook, given: z.infer<typeof settings>): Hook {
  return {
    ...hook,
    token: given.token === undefined ? hook.token : given.token || null,
    mergeRequestsEvents: given.merge_requests_events ?? hook.mergeRequestsEvents,
    pipelineEvents: given.pipeline_events ?? hook.pipelineEvents,
    jobEvents: given.job_events ?? hook.jobEvents,
    noteEvents: given.note_events ?? hook.noteEvents,
    pushEvents: given.push_events ?? hook.pushEvents,
  }
}

function presentHook(project: Project, hook: Hook): object {
  return {
    id: hook.id,
    url: hook.url,
    name: null,
    description: null,
    created_at: hook.createdAt ?? project.createdAt,
    push_events: hook.pushEvents,
    tag_push_events: false,
    merge_requests_events: hook.mergeRequestsEvents,
    repository_update_events: false,
    enable_ssl_verification: true,
    alert_status: 'executable',
    disabled_until: null,
    url_variables: [],
    custom_headers: [],
    custom_webhook_template: null,
    push_events_branch_filter: null,
    branch_filter_strategy: 'wildcard',
    project_id: project.id,
    issues_events: false,
    confidential_issues_events: false,
    note_events: hook.noteEvents,
    confidential_note_events: false,
    pipeline_events: hook.pipelineEvents,
    wiki_page_events: false,
    deployment_events: false,
    job_events: hook.jobEvents,
    releases_events: false,
  }
}
