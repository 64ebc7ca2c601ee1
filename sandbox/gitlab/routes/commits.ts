/** Commits: make one, list, read one, its diff and where it is; and the comparison of two references. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { REPORTER, requireProject } from '../auth.ts'
import { createCommit, requirePush } from '../commits/create.ts'
import { branchOf, readCommitRequest } from '../commits/request.ts'
import type { SandboxContext } from '../context.ts'
import { forbidden, notFound } from '../errors.ts'
import { diffTrees, EMPTY_TREE, lineStats } from '../git/diff.ts'
import { type Commit, listCommits, mergeBase, type Repository, readCommit, resolveCommit } from '../git/repository.ts'
import { paginate, readPage, setPageHeaders } from '../pagination.ts'
import { flag, pathParam, rawParams, readParams, text, time } from '../params.ts'
import { presentCommit, presentCommitDetail } from '../present/commit.ts'
import { presentDiff } from '../present/diff.ts'
import { projectUrl } from '../present/project.ts'
import type { Project, User } from '../state.ts'

function statsOf(repo: Repository, commit: Commit) {
  return lineStats(repo, commit.parents[0] ?? EMPTY_TREE, commit.sha)
}

/** The commit that a route's `:sha` names: an id, a branch or a tag. */
async function commitOf(context: SandboxContext, project: Project, ref: string): Promise<Commit> {
  const repo = context.git(project)
  const sha = await resolveCommit(repo, ref)
  const commit = sha === null ? null : await readCommit(repo, sha)
  if (!commit) throw notFound('Commit')
  return commit
}

/** There are no forks here, so a start can only come from the project itself. */
function requireOwnStart(context: SandboxContext, project: Project, user: User, start: unknown): void {
  if (typeof start !== 'string' && typeof start !== 'number') return
  const other = context.findProject(start)
  if (!other || context.accessLevel(other, user) === 0) throw notFound('Project')
  const name = project.pathWithNamespace.split('/').at(-1)
  if (other !== project) throw forbidden(`Project is not included in the fork network for ${name}`)
}

const listing = z.object({
  ref_name: text.optional(),
  path: text.optional(),
  since: time.optional(),
  until: time.optional(),
  author: text.optional(),
  first_parent: flag.optional(),
  with_stats: flag.optional(),
})

const comparison = z.object({ from: text, to: text, straight: flag.optional() })

function registerCompare(app: FastifyInstance, context: SandboxContext): void {
  app.get('/api/v4/projects/:id/repository/compare', async (request) => {
    const { project } = requireProject(request, context, REPORTER)
    const given = readParams(request, comparison)
    const repo = context.git(project)
    const from = await resolveCommit(repo, given.from)
    const to = await resolveCommit(repo, given.to)
    if (from === null || to === null) throw notFound('Ref')
    const base = given.straight ? from : ((await mergeBase(repo, from, to)) ?? from)
    const commits = (await listCommits(repo, `${from}..${to}`)).reverse()
    const diffs = await diffTrees(repo, base, to)
    const last = commits.at(-1)
    const dots = given.straight ? '..' : '...'
    return {
      commit: last ? presentCommit(context, project, last) : null,
      commits: commits.map((commit) => presentCommit(context, project, commit)),
      diffs: diffs.map(presentDiff),
      compare_timeout: false,
      compare_same_ref: given.from === given.to,
      web_url: `${projectUrl(context, project)}/-/compare/${given.from}${dots}${given.to}`,
    }
  })
  app.get('/api/v4/projects/:id/repository/merge_base', async (request) => {
    const { project } = requireProject(request, context, REPORTER)
    const refs = rawParams(request)['refs']
    const shas = await Promise.all(
      (Array.isArray(refs) ? refs : []).map((ref) => commitOf(context, project, String(ref))),
    )
    const [a, b] = shas
    const sha = a && b ? await mergeBase(context.git(project), a.sha, b.sha) : null
    if (sha === null) throw notFound('Merge Base')
    return presentCommit(context, project, await commitOf(context, project, sha))
  })
}

export function registerCommitRoutes(app: FastifyInstance, context: SandboxContext): void {
  const list = '/api/v4/projects/:id/repository/commits'
  app.post(list, async (request, reply) => {
    const { project, user } = requireProject(request, context)
    const bag = rawParams(request)
    const branch = branchOf(bag)
    // The right to push comes before everything else that could be wrong.
    if (branch !== null) requirePush(context, project, user, branch)
    const given = readCommitRequest(bag)
    requireOwnStart(context, project, user, bag['start_project'])
    const sha = await context.exclusive(project, () => createCommit(context, project, user, given))
    const commit = await commitOf(context, project, sha)
    const stats = given.stats ? await statsOf(context.git(project), commit) : null
    return reply.code(201).send(presentCommitDetail(context, project, commit, stats))
  })
  app.get(list, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const given = readParams(request, listing)
    const repo = context.git(project)
    const page = readPage(request)
    const start = await resolveCommit(repo, given.ref_name ?? project.defaultBranch)
    if (start === null) {
      if (given.ref_name !== undefined) throw notFound('Commit')
      setPageHeaders(request, reply, context.externalUrl, page, null, false)
      return []
    }
    const commits = await listCommits(repo, start, {
      skip: page.offset,
      limit: page.perPage + 1,
      firstParent: given.first_parent ?? false,
      ...(given.path ? { path: given.path } : {}),
      ...(given.since ? { since: given.since } : {}),
      ...(given.until ? { until: given.until } : {}),
      ...(given.author ? { author: given.author } : {}),
    })
    const more = commits.length > page.perPage
    setPageHeaders(request, reply, context.externalUrl, page, null, more)
    return Promise.all(
      commits.slice(0, page.perPage).map(async (commit) => ({
        ...presentCommit(context, project, commit),
        ...(given.with_stats ? { stats: await statsOf(repo, commit) } : {}),
      })),
    )
  })
  app.get(`${list}/:sha`, async (request) => {
    const { project } = requireProject(request, context, REPORTER)
    const { stats } = readParams(request, z.object({ stats: flag.optional() }))
    const commit = await commitOf(context, project, pathParam(request, 'sha'))
    const counts = stats === false ? null : await statsOf(context.git(project), commit)
    return presentCommitDetail(context, project, commit, counts)
  })
  app.get(`${list}/:sha/diff`, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const commit = await commitOf(context, project, pathParam(request, 'sha'))
    const diffs = await diffTrees(context.git(project), commit.parents[0] ?? EMPTY_TREE, commit.sha)
    return paginate(request, reply, context.externalUrl, diffs).map(presentDiff)
  })
  app.get(`${list}/:sha/refs`, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const commit = await commitOf(context, project, pathParam(request, 'sha'))
    const names = await context.git(project).text(['branch', '--contains', commit.sha, '--format=%(refname:lstrip=2)'])
    const refs = names === '' ? [] : names.split('\n').map((name) => ({ type: 'branch', name }))
    return paginate(request, reply, context.externalUrl, refs)
  })
  registerCompare(app, context)
}
