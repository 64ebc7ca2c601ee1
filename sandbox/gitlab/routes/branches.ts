/** Branches and their protection. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { DEVELOPER, MAINTAINER, type ProjectAccess, REPORTER, requireProject } from '../auth.ts'
import { requirePush } from '../commits/create.ts'
import type { SandboxContext } from '../context.ts'
import { forbidden, notFound, refusal } from '../errors.ts'
import {
  type Branch,
  branchHead,
  isAncestor,
  isBranchName,
  listBranches,
  readCommit,
  resolveCommit,
  ZERO_SHA,
} from '../git/repository.ts'
import { moveBranch } from '../git/write.ts'
import { paginate } from '../pagination.ts'
import { flag, integer, pathParam, rawParams, readParams, text } from '../params.ts'
import { presentBranch, presentProtectedBranch } from '../present/branch.ts'
import { isProtected, mayPush } from '../protection.ts'
import { recordPush } from '../pushes.ts'
import type { ProtectedBranch } from '../state.ts'
import { noContent } from './projects.ts'

async function present(context: SandboxContext, { project, user }: ProjectAccess, branch: Branch) {
  const repo = context.git(project)
  const commit = await readCommit(repo, branch.sha)
  if (!commit) throw notFound('Branch')
  const head = branch.name === project.defaultBranch ? null : await branchHead(repo, project.defaultBranch)
  const merged = head !== null && (await isAncestor(repo, branch.sha, head))
  return presentBranch(context, project, user, { branch, commit, merged })
}

/** `^name` and `name$` anchor the search, as in GitLab. */
function searchFor(search: unknown): (name: string) => boolean {
  if (typeof search !== 'string' || search === '') return () => true
  const word = search.replace(/^\^|\$$/g, '').toLowerCase()
  return (name) => {
    const lower = name.toLowerCase()
    const at = lower.indexOf(word)
    return (search.startsWith('^') ? at === 0 : at >= 0) && (!search.endsWith('$') || lower.endsWith(word))
  }
}

async function deleteBranch(context: SandboxContext, { project, user, level }: ProjectAccess, branch: string) {
  const repo = context.git(project)
  const sha = await branchHead(repo, branch)
  if (sha === null) throw notFound('Branch')
  if (branch === project.defaultBranch) throw refusal(400, 'The default branch of a project cannot be deleted.')
  if (isProtected(project, branch)) {
    if (level < MAINTAINER) {
      throw refusal(
        400,
        'You are not allowed to delete protected branches from this project. Only a project maintainer or owner can delete a protected branch.',
      )
    }
  } else if (!mayPush(context, project, user, branch)) throw forbidden()
  if (!(await moveBranch(repo, branch, sha, ZERO_SHA))) throw refusal(400, 'Failed to remove branch')
  recordPush(context, { project, branch, before: sha, after: ZERO_SHA, userId: user.id })
}

function registerBranches(app: FastifyInstance, context: SandboxContext): void {
  const list = '/api/v4/projects/:id/repository/branches'
  const one = `${list}/:branch`
  app.get(list, async (request, reply) => {
    const access = requireProject(request, context, REPORTER)
    const fits = searchFor(rawParams(request)['search'])
    const branches = (await listBranches(context.git(access.project))).filter((branch) => fits(branch.name))
    const shown = paginate(request, reply, context.externalUrl, branches)
    return Promise.all(shown.map((branch) => present(context, access, branch)))
  })
  app.head(one, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const sha = await branchHead(context.git(project), pathParam(request, 'branch'))
    return reply.code(sha === null ? 404 : 204).send()
  })
  app.get(one, { exposeHeadRoute: false }, async (request) => {
    const access = requireProject(request, context, REPORTER)
    const name = pathParam(request, 'branch')
    const sha = await branchHead(context.git(access.project), name)
    if (sha === null) throw notFound('Branch')
    return present(context, access, { name, sha })
  })
  app.post(list, async (request, reply) => {
    const access = requireProject(request, context, DEVELOPER)
    const { project, user } = access
    const { branch, ref } = readParams(request, z.object({ branch: text, ref: text }))
    requirePush(context, project, user, branch)
    const repo = context.git(project)
    const created = await context.exclusive(project, async () => {
      if ((await branchHead(repo, branch)) !== null) throw refusal(400, 'Branch already exists')
      if (!isBranchName(branch)) throw refusal(400, 'Branch name is invalid')
      const sha = await resolveCommit(repo, ref)
      if (sha === null) throw refusal(400, `Invalid reference name: ${ref}`)
      if (!(await moveBranch(repo, branch, ZERO_SHA, sha))) throw refusal(400, 'Branch name is invalid')
      recordPush(context, { project, branch, before: ZERO_SHA, after: sha, userId: user.id })
      return { name: branch, sha }
    })
    return reply.code(201).send(await present(context, access, created))
  })
  app.delete(one, async (request, reply) => {
    const access = requireProject(request, context, DEVELOPER)
    await context.exclusive(access.project, () => deleteBranch(context, access, pathParam(request, 'branch')))
    return noContent(reply)
  })
}

const protection = z.object({
  name: text,
  push_access_level: integer.optional(),
  merge_access_level: integer.optional(),
  allow_force_push: flag.optional(),
})

function registerProtectedBranches(app: FastifyInstance, context: SandboxContext): void {
  const list = '/api/v4/projects/:id/protected_branches'
  const one = `${list}/:name`
  const find = (rules: readonly ProtectedBranch[], name: string) => {
    const rule = rules.find((candidate) => candidate.name === name)
    if (!rule) throw notFound()
    return rule
  }
  app.get(list, async (request, reply) => {
    const { project } = requireProject(request, context, DEVELOPER)
    return paginate(request, reply, context.externalUrl, project.protectedBranches).map((rule) =>
      presentProtectedBranch(project, rule),
    )
  })
  app.get(one, async (request) => {
    const { project } = requireProject(request, context, DEVELOPER)
    return presentProtectedBranch(project, find(project.protectedBranches, pathParam(request, 'name')))
  })
  app.post(list, async (request, reply) => {
    const { project } = requireProject(request, context, MAINTAINER)
    const given = readParams(request, protection)
    if (project.protectedBranches.some((rule) => rule.name === given.name)) {
      throw refusal(409, `Protected branch '${given.name}' already exists`)
    }
    const rule: ProtectedBranch = {
      name: given.name,
      pushAccessLevel: given.push_access_level ?? MAINTAINER,
      mergeAccessLevel: given.merge_access_level ?? MAINTAINER,
      allowForcePush: given.allow_force_push ?? false,
    }
    project.protectedBranches.push(rule)
    context.save()
    return reply.code(201).send(presentProtectedBranch(project, rule))
  })
  app.delete(one, async (request, reply) => {
    const { project } = requireProject(request, context, MAINTAINER)
    const rule = find(project.protectedBranches, pathParam(request, 'name'))
    project.protectedBranches = project.protectedBranches.filter((candidate) => candidate !== rule)
    context.save()
    return noContent(reply)
  })
}

export function registerBranchRoutes(app: FastifyInstance, context: SandboxContext): void {
  registerBranches(app, context)
  registerProtectedBranches(app, context)
}
