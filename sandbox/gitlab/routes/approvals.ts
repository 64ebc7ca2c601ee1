/** Approvals of a merge request: who approved, how many are still needed, giving one and taking it back. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { DEVELOPER, MAINTAINER, requireProject } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { notFound, unauthorized } from '../errors.ts'
import { touch } from '../merge-requests/changes.ts'
import { requireHead } from '../merge-requests/merge.ts'
import { publicMergeStatus } from '../merge-requests/status.ts'
import { flag, integer, readParams, text } from '../params.ts'
import { presentUserId } from '../present/user.ts'
import type { MergeRequest, Project } from '../state.ts'
import { type MergeRequestAccess, requireMergeRequest } from './merge-requests.ts'

/** Where approvals are demanded, the author's own does not count. */
function mayApprove({ project, mergeRequest, user, level }: MergeRequestAccess): boolean {
  if (level < DEVELOPER || mergeRequest.approvals.some((approval) => approval.userId === user.id)) return false
  return project.approvalsRequired === 0 || mergeRequest.authorId !== user.id
}

function presentApprovals(context: SandboxContext, access: MergeRequestAccess) {
  const { project, mergeRequest, user } = access
  const left = Math.max(0, project.approvalsRequired - mergeRequest.approvals.length)
  return {
    id: mergeRequest.id,
    iid: mergeRequest.iid,
    project_id: project.id,
    title: mergeRequest.title,
    description: mergeRequest.description,
    state: mergeRequest.state,
    created_at: mergeRequest.createdAt,
    updated_at: mergeRequest.updatedAt,
    merge_status: publicMergeStatus(mergeRequest),
    approved: left === 0 && (project.approvalsRequired > 0 || mergeRequest.approvals.length > 0),
    approvals_required: project.approvalsRequired,
    approvals_left: left,
    require_password_to_approve: false,
    approved_by: mergeRequest.approvals.map((approval) => ({
      user: presentUserId(context, approval.userId),
      approved_at: approval.approvedAt,
    })),
    suggested_approvers: [],
    approvers: [],
    approver_groups: [],
    user_has_approved: mergeRequest.approvals.some((approval) => approval.userId === user.id),
    user_can_approve: mayApprove(access),
    approval_rules_left: [],
    has_approval_rules: project.approvalsRequired > 0,
    merge_request_approvers_available: true,
    multiple_approval_rules_available: true,
    invalid_approvers_rules: [],
  }
}

function presentSettings(project: Project) {
  return {
    approvals_before_merge: project.approvalsRequired,
    reset_approvals_on_push: project.resetApprovalsOnPush ?? false,
    selective_code_owner_removals: false,
    disable_overriding_approvers_per_merge_request: false,
    merge_requests_author_approval: false,
    merge_requests_disable_committers_approval: false,
    require_password_to_approve: false,
  }
}

/** Whether one approval more or less changes the verdict; without a demanded number every one does. */
function decides(project: Project, before: number, after: number): boolean {
  const needed = project.approvalsRequired
  return needed === 0 || before >= needed !== after >= needed
}

function setApprovals(
  context: SandboxContext,
  { project, user }: MergeRequestAccess,
  mergeRequest: MergeRequest,
  approvals: MergeRequest['approvals'],
): void {
  const before = mergeRequest.approvals.length
  mergeRequest.approvals = approvals
  touch(context, mergeRequest)
  const more = approvals.length > before
  const verdict = decides(project, before, approvals.length)
  const action = more ? (verdict ? 'approved' : 'approval') : verdict ? 'unapproved' : 'unapproval'
  context.signals.emit('merge_request', { mergeRequest, action, userId: user.id, changes: {} })
}

export function registerApprovalRoutes(app: FastifyInstance, context: SandboxContext): void {
  const one = '/api/v4/projects/:id/merge_requests/:iid'
  app.get(`${one}/approvals`, async (request) => presentApprovals(context, requireMergeRequest(request, context)))
  app.get(`${one}/approval_state`, async (request) => {
    const { project, mergeRequest } = requireMergeRequest(request, context)
    const approvers = mergeRequest.approvals.map((approval) => presentUserId(context, approval.userId))
    const rule = {
      id: project.id,
      name: 'All Members',
      rule_type: 'any_approver',
      report_type: null,
      eligible_approvers: [],
      approvals_required: project.approvalsRequired,
      users: [],
      groups: [],
      contains_hidden_groups: false,
      section: null,
      source_rule: null,
      overridden: false,
      code_owner: false,
      approved_by: approvers,
      approved: approvers.length >= project.approvalsRequired,
    }
    return { approval_rules_overwritten: false, rules: [rule] }
  })
  const settings = '/api/v4/projects/:id/approvals'
  app.get(settings, async (request) => presentSettings(requireProject(request, context, DEVELOPER).project))
  app.post(settings, async (request, reply) => {
    const { project } = requireProject(request, context, MAINTAINER)
    const given = readParams(
      request,
      z.object({ approvals_before_merge: integer.optional(), reset_approvals_on_push: flag.optional() }),
    )
    project.approvalsRequired = given.approvals_before_merge ?? project.approvalsRequired
    project.resetApprovalsOnPush = given.reset_approvals_on_push ?? project.resetApprovalsOnPush ?? false
    context.save()
    return reply.code(201).send(presentSettings(project))
  })
  app.post(`${one}/approve`, async (request, reply) => {
    const access = requireMergeRequest(request, context)
    const { mergeRequest, user } = access
    const { sha } = readParams(request, z.object({ sha: text.nullish() }))
    if (!mayApprove(access)) throw unauthorized()
    requireHead(mergeRequest, sha ?? null)
    const approval = { userId: user.id, approvedAt: context.timestamp() }
    setApprovals(context, access, mergeRequest, [...mergeRequest.approvals, approval])
    return reply.code(201).send(presentApprovals(context, access))
  })
  app.post(`${one}/unapprove`, async (request, reply) => {
    const access = requireMergeRequest(request, context)
    const { mergeRequest, user } = access
    const left = mergeRequest.approvals.filter((approval) => approval.userId !== user.id)
    if (left.length === mergeRequest.approvals.length) throw notFound()
    setApprovals(context, access, mergeRequest, left)
    return reply.code(201).send(presentApprovals(context, access))
  })
  app.put(`${one}/reset_approvals`, async (request, reply) => {
    const access = requireMergeRequest(request, context, DEVELOPER)
    if (!access.user.bot) throw unauthorized()
    if (access.mergeRequest.approvals.length > 0) setApprovals(context, access, access.mergeRequest, [])
    return reply.code(202).send()
  })
}
