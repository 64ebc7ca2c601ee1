/** The commits and the changed files of a merge request, as its last diff version holds them. */
import type { FastifyInstance } from 'fastify'
import type { SandboxContext } from '../context.ts'
import { diffTrees } from '../git/diff.ts'
import { branchHead, listCommits, mergeBase } from '../git/repository.ts'
import { paginate } from '../pagination.ts'
import { presentCommit } from '../present/commit.ts'
import { presentDiff } from '../present/diff.ts'
import { presentSingleMergeRequest } from '../present/merge-request.ts'
import type { MergeRequest, Project } from '../state.ts'
import { requireMergeRequest } from './merge-requests.ts'

/** From which commit to which the request reads; before its first diff, worked out from the branches. */
async function rangeOf(context: SandboxContext, project: Project, mergeRequest: MergeRequest) {
  if (mergeRequest.diffRefs) return { base: mergeRequest.diffRefs.baseSha, head: mergeRequest.diffRefs.headSha }
  const repo = context.git(project)
  const head = mergeRequest.sha
  const target = await branchHead(repo, mergeRequest.targetBranch)
  return { base: (target === null ? null : await mergeBase(repo, target, head)) ?? head, head }
}

async function diffsOf(context: SandboxContext, project: Project, mergeRequest: MergeRequest) {
  const { base, head } = await rangeOf(context, project, mergeRequest)
  return (await diffTrees(context.git(project), base, head)).map(presentDiff)
}

export function registerDiffRoutes(app: FastifyInstance, context: SandboxContext): void {
  const one = '/api/v4/projects/:id/merge_requests/:iid'
  app.get(`${one}/commits`, async (request, reply) => {
    const { project, mergeRequest } = requireMergeRequest(request, context)
    const { base, head } = await rangeOf(context, project, mergeRequest)
    const commits = await listCommits(context.git(project), `${base}..${head}`)
    return paginate(request, reply, context.externalUrl, commits).map((commit) =>
      presentCommit(context, project, commit),
    )
  })
  app.get(`${one}/diffs`, async (request, reply) => {
    const { project, mergeRequest } = requireMergeRequest(request, context)
    return paginate(request, reply, context.externalUrl, await diffsOf(context, project, mergeRequest))
  })
  app.get(`${one}/changes`, async (request) => {
    const { project, mergeRequest, user } = requireMergeRequest(request, context)
    return {
      ...(await presentSingleMergeRequest(context, project, mergeRequest, user)),
      changes: await diffsOf(context, project, mergeRequest),
      overflow: false,
    }
  })
}
