/**
 * The pages behind every `web_url` of the API, for a person who follows a link. They are read without login, as the
 * sandbox listens on loopback only; they change nothing, and their policy forbids scripts, forms and foreign content.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { SandboxContext } from '../context.ts'
import { pathParam } from '../params.ts'
import type { Project } from '../state.ts'
import { jobPage, pipelineListPage, pipelinePage } from './ci.ts'
import { html } from './html.ts'
import { empty, link, type Page, renderPage, section } from './layout.ts'
import { mergeRequestListPage, mergeRequestPage } from './merge-request.ts'
import { branchesPage, commitPage, comparePage, filesPage, projectPage } from './repository.ts'
import { STYLE } from './style.ts'

const POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function registerPages(app: FastifyInstance, context: SandboxContext): void {
  app.get('/-/sandbox.css', (_request, reply) => reply.type('text/css; charset=utf-8').send(STYLE))
  app.get('/', (_request, reply) => send(reply, projectsPage(context, '')))
  app.get('/*', async (request, reply) => {
    const path = pathParam(request, '*').replace(/\/+$/, '')
    // Unknown addresses of the API keep the API's own answer.
    if (path === 'api' || path.startsWith('api/')) return reply.callNotFound()
    const page = await findPage(context, path)
    return send(reply, page ?? missingPage(path), page === null ? 404 : 200)
  })
}

function send(reply: FastifyReply, page: Page, status = 200): FastifyReply {
  return reply
    .code(status)
    .headers({
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    .type('text/html; charset=utf-8')
    .send(renderPage(page))
}

async function findPage(context: SandboxContext, path: string): Promise<Page | null> {
  const [front = '', ...behind] = path.split('/-/')
  const project = /^\d+$/.test(front) ? null : context.findProject(front)
  if (project !== null) return findProjectPage(context, project, behind.join('/-/'))
  const group = front.replace(/^groups\//, '')
  if (behind.length > 0) return null
  if (context.state.projects.some((row) => row.pathWithNamespace.startsWith(`${group}/`)))
    return projectsPage(context, group)
  const user = context.findUserByName(front)
  return user && userPage(user.name, user.username)
}

async function findProjectPage(context: SandboxContext, project: Project, rest: string): Promise<Page | null> {
  const { state } = context
  const [kind = '', ...others] = rest.split('/')
  const argument = others.join('/')
  const number = /^\d+$/.test(argument) ? Number(argument) : Number.NaN
  const inProject = <Row extends { id: number; projectId: number }>(rows: readonly Row[]) =>
    rows.find((row) => row.projectId === project.id && row.id === number)
  switch (kind) {
    case '':
      return projectPage(context, project)
    case 'merge_requests': {
      if (argument === '') return mergeRequestListPage(context, project)
      const mergeRequest = context.findMergeRequest(project.id, number)
      return mergeRequest && mergeRequestPage(context, project, mergeRequest)
    }
    case 'pipelines': {
      if (argument === '') return pipelineListPage(context, project)
      const pipeline = inProject(state.pipelines)
      return pipeline === undefined ? null : pipelinePage(context, project, pipeline)
    }
    case 'jobs': {
      const job = inProject(state.jobs)
      return job === undefined ? null : jobPage(context, project, job)
    }
    case 'branches':
      return branchesPage(context, project)
    case 'commit':
      return commitPage(context, project, argument)
    case 'compare':
      return comparePage(context, project, argument)
    case 'tree':
    case 'blob':
      return filesPage(context, project, argument)
    default:
      return null
  }
}

function projectsPage(context: SandboxContext, group: string): Page {
  const rows = context.state.projects.filter((row) => group === '' || row.pathWithNamespace.startsWith(`${group}/`))
  const table = html`<table><tbody>${rows.map(
    (row) => html`<tr><td class="name"><a href="${link(row)}">${row.pathWithNamespace}</a></td>
<td class="end soft">${row.defaultBranch}</td></tr>`,
  )}</tbody></table>`
  const title = group === '' ? 'Projects' : group
  return {
    title,
    body: html`<h1>${title}</h1>${section('Projects', rows.length === 0 ? empty('No projects.') : table)}`,
  }
}

function userPage(name: string, username: string): Page {
  return { title: name, body: html`<h1>${name}</h1><p class="lead">@${username}</p>` }
}

function missingPage(path: string): Page {
  return {
    title: 'Not found',
    body: html`<h1>Not found</h1><p class="lead">There is nothing at <code>/${path}</code>.</p>`,
  }
}
