/** The page of one merge request: everything a person following its link wants to see. */
import type { SandboxContext } from '../context.ts'
import { detailedMergeStatus, headPipeline } from '../merge-requests/status.ts'
import type { MergeRequest, Note, Pipeline, Project } from '../state.ts'
import { REFRESH_SECONDS, refreshFor, stages } from './ci.ts'
import { diffSection } from './diff.ts'
import { type Html, html } from './html.ts'
import {
  branchLink,
  commitLink,
  empty,
  link,
  type Page,
  section,
  stateBadge,
  statusBadge,
  time,
  userName,
} from './layout.ts'

/** How long the page of an open request goes on asking after its pipeline has ended. */
const WATCHED_MS = 60_000

export async function mergeRequestPage(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
): Promise<Page> {
  const { iid, title, description, diffRefs } = mergeRequest
  const pipeline = headPipeline(context, mergeRequest)
  const refs = diffRefs ?? { baseSha: mergeRequest.sha, headSha: mergeRequest.sha }
  const notes = context.state.notes.filter(
    (note) => note.projectId === project.id && note.noteableType === 'MergeRequest' && note.noteableIid === iid,
  )
  const body = html`<h1>${title} <span class="soft">!${iid}</span></h1>
<p class="lead">${stateBadge(mergeRequest.state)}<span>${userName(context, mergeRequest.authorId)} wants to merge
${branchLink(project, mergeRequest.sourceBranch)} into ${branchLink(project, mergeRequest.targetBranch)}</span>
${mergeRequest.labels.map((label) => html`<span class="label">${label}</span>`)}</p>
${section(
  'Description',
  description === '' ? empty('No description.') : html`<div class="body text">${description}</div>`,
)}
${section('Merge', await mergeTable(context, project, mergeRequest))}
${section(
  'Pipeline',
  pipeline === null ? empty('No pipeline.') : stages(context, project, pipeline),
  pipeline === null
    ? undefined
    : html`<a href="${link(project, 'pipelines', pipeline.id)}">#${pipeline.id}</a> ${statusBadge(pipeline.status)}`,
)}
${section(
  'Activity',
  notes.length === 0 ? empty('No comments.') : html`${notes.map((note) => comment(context, note))}`,
)}
${await diffSection(context.git(project), refs.baseSha, refs.headSha)}`
  const trail = [
    [project.pathWithNamespace, link(project)] as const,
    ['Merge requests', link(project, 'merge_requests')] as const,
  ]
  const refresh = mergeRequest.state === 'opened' ? (refreshFor(pipeline) ?? afterwards(context, pipeline)) : undefined
  return { title: `${title} (!${iid})`, body, trail, refresh }
}

/** A merge tends to follow a finished pipeline: whoever is watching should see it come. */
function afterwards(context: SandboxContext, pipeline: Pipeline | null): number | undefined {
  const endedMs = pipeline?.finishedAt ? Date.parse(pipeline.finishedAt) : 0
  return context.clock.now().getTime() - endedMs < WATCHED_MS ? REFRESH_SECONDS : undefined
}

export function mergeRequestListPage(context: SandboxContext, project: Project): Page {
  const rows = mergeRequestsOf(context, project).slice(0, 100)
  const body = html`<h1>Merge requests</h1>${section(project.pathWithNamespace, mergeRequestTable(context, project, rows))}`
  return { title: 'Merge requests', body, trail: [[project.pathWithNamespace, link(project)]] }
}

/** Newest first. */
export function mergeRequestsOf(context: SandboxContext, project: Project): readonly MergeRequest[] {
  return context.state.mergeRequests.filter((row) => row.projectId === project.id).toReversed()
}

export function mergeRequestTable(context: SandboxContext, project: Project, rows: readonly MergeRequest[]): Html {
  if (rows.length === 0) return empty('No merge requests.')
  return html`<table><tbody>${rows.map((row) => {
    const pipeline = headPipeline(context, row)
    return html`<tr><td>${stateBadge(row.state)}</td>
<td class="name"><a href="${link(project, 'merge_requests', row.iid)}">${row.title}</a> <span class="soft">!${row.iid}</span></td>
<td>${pipeline !== null && statusBadge(pipeline.status)}</td><td class="end soft">${time(row.updatedAt)}</td></tr>`
  })}</tbody></table>`
}

async function mergeTable(context: SandboxContext, project: Project, mergeRequest: MergeRequest): Promise<Html> {
  const rows: (readonly [string, Html])[] = [['Head', commitLink(project, mergeRequest.sha)]]
  if (mergeRequest.state === 'opened') {
    const status = await detailedMergeStatus(context, project, mergeRequest)
    rows.push([
      'Status',
      html`<span class="${status === 'mergeable' ? 'good' : 'wait'}">${status.replaceAll('_', ' ')}</span>`,
    ])
  }
  rows.push(['Approvals', approvals(context, project, mergeRequest)])
  if (mergeRequest.mergedAt !== null) {
    const commit = mergeRequest.mergeCommitSha ?? mergeRequest.squashCommitSha ?? mergeRequest.sha
    const by = userName(context, mergeRequest.mergeUserId)
    rows.push(['Merged', html`as ${commitLink(project, commit)} by ${by} at ${time(mergeRequest.mergedAt)}`])
  }
  if (mergeRequest.state === 'closed') {
    rows.push(['Closed', html`by ${userName(context, mergeRequest.closedById)} at ${time(mergeRequest.closedAt)}`])
  }
  if (mergeRequest.autoMerge !== null) rows.push(['Auto-merge', html`as soon as the checks pass`])
  if (mergeRequest.mergeError !== null)
    rows.push(['Last error', html`<span class="bad">${mergeRequest.mergeError}</span>`])
  return html`<table><tbody>${rows.map(([name, value]) => html`<tr><th>${name}</th><td class="name">${value}</td></tr>`)}
</tbody></table>`
}

function approvals(context: SandboxContext, project: Project, { approvals: given }: MergeRequest): Html {
  const needed = project.approvalsRequired > 0 ? html` of ${project.approvalsRequired} needed` : html``
  if (given.length === 0) return html`<span class="soft">none${needed}</span>`
  const names = given.map(({ userId }, index) => html`${index > 0 && ', '}${userName(context, userId)}`)
  return html`<span class="good">${given.length}${needed}</span>: ${names}`
}

function comment(context: SandboxContext, note: Note): Html {
  return html`<div class="comment${note.system ? ' system' : ''}" id="note_${note.id}"><div class="small soft">
${userName(context, note.authorId)} at ${time(note.createdAt)}</div><div class="text">${note.body}</div></div>`
}
