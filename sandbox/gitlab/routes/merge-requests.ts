/** Merge requests: create, list, read, update, merge, rebase. What hangs below one is in approvals.ts, notes.ts, diffs.ts. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { DEVELOPER, type ProjectAccess, REPORTER, requireProject } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { forbidden, frameworkError, methodNotAllowed, recordNotFound, refusal } from '../errors.ts'
import { touch } from '../merge-requests/changes.ts'
import { createMergeRequest } from '../merge-requests/create.ts'
import { type ListFilter, selectMergeRequests } from '../merge-requests/list.ts'
import { mergeMergeRequest, writeMergeRef } from '../merge-requests/merge.ts'
import { checkNow, requestCheck } from '../merge-requests/mergeability.ts'
import { requestRebase } from '../merge-requests/rebase.ts'
import { updateMergeRequest } from '../merge-requests/update.ts'
import { paginate } from '../pagination.ts'
import { flag, idList, integer, nameList, numberParam, rawParams, readParams, text, time } from '../params.ts'
import { presentMergeRequest, presentSingleMergeRequest } from '../present/merge-request.ts'
import type { MergeRequest } from '../state.ts'

export interface MergeRequestAccess extends ProjectAccess {
  readonly mergeRequest: MergeRequest
}

/** The merge request of the route's `:id` and `:iid`, or 401, 403, 404. */
export function requireMergeRequest(
  request: FastifyRequest,
  context: SandboxContext,
  minimumLevel = REPORTER,
): MergeRequestAccess {
  const access = requireProject(request, context, minimumLevel)
  const mergeRequest = context.findMergeRequest(access.project.id, numberParam(request, 'iid'))
  if (!mergeRequest) throw recordNotFound()
  return { ...access, mergeRequest }
}

const filled = z.preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string().min(1))

const people = {
  assignee_id: integer.optional(),
  assignee_ids: idList.optional(),
  reviewer_ids: idList.optional(),
}

const creation = z.object({
  source_branch: filled,
  target_branch: filled,
  title: filled,
  target_project_id: integer.optional(),
  description: text.nullish(),
  labels: nameList.optional(),
  ...people,
  remove_source_branch: flag.nullish(),
  squash: flag.nullish(),
})

function assigneesOf(given: { assignee_id?: number | undefined; assignee_ids?: number[] | undefined }) {
  if (given.assignee_ids !== undefined) return given.assignee_ids
  return given.assignee_id === undefined ? undefined : [given.assignee_id].filter((id) => id > 0)
}

function registerCreate(app: FastifyInstance, context: SandboxContext, list: string): void {
  app.post(list, async (request, reply) => {
    const { project, user, level } = requireProject(request, context)
    const given = readParams(request, creation)
    if (level < DEVELOPER) throw forbidden()
    if (given.target_project_id !== undefined && given.target_project_id !== project.id) {
      throw refusal(422, ['Source project is not a fork of the target project'])
    }
    const mergeRequest = await context.exclusive(project, () =>
      createMergeRequest(context, project, user, {
        sourceBranch: given.source_branch,
        targetBranch: given.target_branch,
        title: given.title,
        description: given.description ?? undefined,
        labels: given.labels,
        assigneeIds: assigneesOf(given),
        reviewerIds: given.reviewer_ids,
        squash: given.squash ?? undefined,
        removeSourceBranch: given.remove_source_branch ?? undefined,
      }),
    )
    return reply.code(201).send(await presentSingleMergeRequest(context, project, mergeRequest, user))
  })
}

const listing = z.object({
  state: z.enum(['opened', 'closed', 'locked', 'merged', 'all']).optional(),
  source_branch: text.optional(),
  target_branch: text.optional(),
  source_project_id: integer.optional(),
  iids: idList.optional(),
  labels: nameList.optional(),
  author_id: integer.optional(),
  author_username: text.optional(),
  draft: z.enum(['true', 'false', 'yes', 'no']).optional(),
  wip: z.enum(['yes', 'no']).optional(),
  search: text.optional(),
  in: text.optional(),
  order_by: z.enum(['created_at', 'updated_at', 'merged_at', 'title']).optional(),
  sort: z.enum(['asc', 'desc']).optional(),
  view: z.enum(['simple']).optional(),
  with_merge_status_recheck: flag.optional(),
  updated_after: time.optional(),
  updated_before: time.optional(),
  created_after: time.optional(),
  created_before: time.optional(),
})

function presentSimple(full: Awaited<ReturnType<typeof presentMergeRequest>>) {
  const { id, iid, project_id, title, description, state, created_at, updated_at, web_url } = full
  return { id, iid, project_id, title, description, state, created_at, updated_at, web_url }
}

function registerList(app: FastifyInstance, context: SandboxContext, list: string): void {
  app.get(list, async (request, reply) => {
    const { project, level } = requireProject(request, context, REPORTER)
    const given = readParams(request, listing)
    const filter: ListFilter = { ...given, draft: given.draft ?? given.wip }
    const found = selectMergeRequests(context, project, filter)
    const shown = paginate(request, reply, context.externalUrl, found)
    if (given.with_merge_status_recheck && level >= DEVELOPER) {
      for (const mergeRequest of shown) requestCheck(context, project, mergeRequest)
    }
    const items = await Promise.all(shown.map((mergeRequest) => presentMergeRequest(context, project, mergeRequest)))
    return given.view === 'simple' ? items.map(presentSimple) : items
  })
}

const reading = z.object({
  include_rebase_in_progress: flag.optional(),
  include_diverged_commits_count: flag.optional(),
})

const update = z.object({
  title: filled.optional(),
  description: text.nullish(),
  target_branch: filled.optional(),
  labels: nameList.optional(),
  add_labels: nameList.optional(),
  remove_labels: nameList.optional(),
  state_event: z.enum(['close', 'reopen']).optional(),
  ...people,
  remove_source_branch: flag.nullish(),
  squash: flag.nullish(),
  discussion_locked: flag.nullish(),
  milestone_id: integer.nullish(),
  merge_after: text.nullish(),
  allow_collaboration: flag.nullish(),
})

function registerSingle(app: FastifyInstance, context: SandboxContext, one: string): void {
  app.get(one, async (request) => {
    const { project, user, mergeRequest } = requireMergeRequest(request, context)
    const given = readParams(request, reading)
    // Reading starts the check, so this very answer is not settled yet.
    requestCheck(context, project, mergeRequest)
    return presentSingleMergeRequest(context, project, mergeRequest, user, {
      includeRebaseInProgress: given.include_rebase_in_progress ?? false,
      includeDivergedCommitsCount: given.include_diverged_commits_count ?? false,
    })
  })
  app.put(one, async (request) => {
    const { project, user, mergeRequest, level } = requireMergeRequest(request, context)
    if (level < DEVELOPER && mergeRequest.authorId !== user.id) throw forbidden()
    const given = readParams(request, update)
    const keys = Object.keys(update.shape)
    if (!keys.some((key) => key in rawParams(request))) {
      throw frameworkError(`${keys.join(', ')} are missing, at least one parameter must be provided`)
    }
    await context.exclusive(project, () =>
      updateMergeRequest(context, project, mergeRequest, user, {
        title: given.title,
        description: given.description === null ? '' : given.description,
        targetBranch: given.target_branch,
        labels: given.labels,
        addLabels: given.add_labels,
        removeLabels: given.remove_labels,
        stateEvent: given.state_event,
        assigneeIds: assigneesOf(given),
        reviewerIds: given.reviewer_ids,
        removeSourceBranch: given.remove_source_branch ?? undefined,
        squash: given.squash ?? undefined,
        discussionLocked: given.discussion_locked ?? undefined,
      }),
    )
    return presentSingleMergeRequest(context, project, mergeRequest, user)
  })
}

const merging = z.object({
  sha: text.nullish(),
  squash: flag.nullish(),
  should_remove_source_branch: flag.nullish(),
  merge_commit_message: text.nullish(),
  squash_commit_message: text.nullish(),
  auto_merge: flag.nullish(),
  merge_when_pipeline_succeeds: flag.nullish(),
})

function registerMerge(app: FastifyInstance, context: SandboxContext, one: string): void {
  app.put(`${one}/merge`, async (request) => {
    const { project, user, mergeRequest } = requireMergeRequest(request, context)
    const given = readParams(request, merging)
    await context.exclusive(project, () =>
      mergeMergeRequest(context, project, mergeRequest, user, {
        sha: given.sha ?? null,
        squash: given.squash ?? null,
        shouldRemoveSourceBranch: given.should_remove_source_branch ?? null,
        mergeCommitMessage: given.merge_commit_message ?? null,
        squashCommitMessage: given.squash_commit_message ?? null,
        autoMerge: given.auto_merge ?? given.merge_when_pipeline_succeeds ?? false,
      }),
    )
    return presentSingleMergeRequest(context, project, mergeRequest, user)
  })
  app.post(`${one}/cancel_merge_when_pipeline_succeeds`, async (request, reply) => {
    const { user, mergeRequest } = requireMergeRequest(request, context, DEVELOPER)
    if (mergeRequest.autoMerge === null) throw refusal(406, "Can't cancel the automatic merge")
    mergeRequest.autoMerge = null
    touch(context, mergeRequest)
    const changes = { merge_when_pipeline_succeeds: { previous: true, current: false } }
    context.signals.emit('merge_request', { mergeRequest, action: 'update', userId: user.id, changes })
    return reply.code(201).send({ status: 'success' })
  })
  app.put(`${one}/rebase`, async (request, reply): Promise<FastifyReply> => {
    const { project, user, mergeRequest } = requireMergeRequest(request, context)
    if (mergeRequest.state !== 'opened') throw methodNotAllowed()
    await requestRebase(context, project, mergeRequest, user)
    return reply.code(202).send({ rebase_in_progress: true })
  })
  app.get(`${one}/merge_ref`, async (request) => {
    const { project, mergeRequest } = requireMergeRequest(request, context)
    const commitId = await context.exclusive(project, async () => {
      await checkNow(context, project, mergeRequest)
      return writeMergeRef(context, project, mergeRequest)
    })
    if (commitId === null) throw refusal(400, 'Merge request is not mergeable')
    return { commit_id: commitId }
  })
}

export function registerMergeRequestRoutes(app: FastifyInstance, context: SandboxContext): void {
  const list = '/api/v4/projects/:id/merge_requests'
  const one = `${list}/:iid`
  registerCreate(app, context, list)
  registerList(app, context, list)
  registerSingle(app, context, one)
  registerMerge(app, context, one)
}
