/** The pages of a pipeline, of a job with its log, and the list of a project's pipelines. */
import { jobsOf, latestJobsOf, pipelineOf } from '../ci/jobs.ts'
import { secondsBetween } from '../ci/present.ts'
import { isAlive } from '../ci/status.ts'
import { plainTrace } from '../ci/trace.ts'
import type { SandboxContext } from '../context.ts'
import type { Job, Pipeline, Project } from '../state.ts'
import { type Html, html } from './html.ts'
import { commitLink, empty, link, type Page, section, statusBadge, time, userName } from './layout.ts'

export const REFRESH_SECONDS = 2

/** How often a page that shows this pipeline should ask again. */
export function refreshFor(pipeline: Pipeline | null): number | undefined {
  return pipeline !== null && isAlive(pipeline.status) ? REFRESH_SECONDS : undefined
}

export function pipelinePage(context: SandboxContext, project: Project, pipeline: Pipeline): Page {
  const retried = jobsOf(context, pipeline).filter((job) => job.retried)
  const body = html`<h1>Pipeline #${pipeline.id}</h1><p class="lead">${statusBadge(pipeline.status)}
<span>for ${commitLink(project, pipeline.sha)} on ${refLink(project, pipeline)}, started by
${userName(context, pipeline.userId)} at ${time(pipeline.createdAt)}${took(pipeline)}</span></p>
${pipeline.yamlErrors !== null && section('Configuration error', html`<div class="body text bad">${pipeline.yamlErrors}</div>`)}
${section('Jobs', stages(context, project, pipeline))}
${retried.length > 0 && section('Earlier attempts', jobTable(project, retried))}`
  const trail = [
    [project.pathWithNamespace, link(project)] as const,
    ['Pipelines', link(project, 'pipelines')] as const,
  ]
  return { title: `Pipeline #${pipeline.id}`, body, trail, refresh: refreshFor(pipeline) }
}

export function jobPage(context: SandboxContext, project: Project, job: Job): Page {
  const pipeline = pipelineOf(context, job)
  const reason = job.status === 'failed' && html` · <span class="bad">${job.failureReason ?? 'unknown_failure'}</span>`
  const trace = plainTrace(job.trace)
  const body = html`<h1>Job ${job.name}</h1><p class="lead">${statusBadge(job.status, job.allowFailure)}
<span>#${job.id}, attempt ${job.attempt}, stage ${job.stage}${reason}${took(job)}</span></p>
${section('Log', trace === '' ? empty('Nothing has been printed yet.') : html`<pre class="trace">${trace}</pre>`)}`
  const trail = [
    [project.pathWithNamespace, link(project)] as const,
    [`Pipeline #${pipeline.id}`, link(project, 'pipelines', pipeline.id)] as const,
  ]
  return { title: `Job ${job.name}`, body, trail, refresh: isAlive(job.status) ? REFRESH_SECONDS : undefined }
}

export function pipelineListPage(context: SandboxContext, project: Project): Page {
  const rows = context.state.pipelines
    .filter((row) => row.projectId === project.id)
    .toReversed()
    .slice(0, 100)
  const body = html`<h1>Pipelines</h1>${section(project.pathWithNamespace, pipelineTable(project, rows))}`
  return { title: 'Pipelines', body, trail: [[project.pathWithNamespace, link(project)]] }
}

export function pipelineTable(project: Project, pipelines: readonly Pipeline[]): Html {
  if (pipelines.length === 0) return empty('No pipelines.')
  return html`<table><tbody>${pipelines.map(
    (row) => html`<tr><td>${statusBadge(row.status)}</td>
<td><a href="${link(project, 'pipelines', row.id)}">#${row.id}</a></td><td>${commitLink(project, row.sha)}</td>
<td class="name">${refLink(project, row)}</td><td class="end soft">${time(row.createdAt)}</td></tr>`,
  )}</tbody></table>`
}

/** The newest attempts, a column a stage. */
export function stages(context: SandboxContext, project: Project, pipeline: Pipeline): Html {
  const jobs = latestJobsOf(context, pipeline)
  if (jobs.length === 0) return empty('This pipeline has no jobs.')
  return html`<div class="stages">${pipeline.stages.map(
    (stage) =>
      html`<div class="stage"><div class="small soft">${stage}</div>${jobs
        .filter((job) => job.stage === stage)
        .map(
          (job) => html`<a class="job" href="${link(project, 'jobs', job.id)}"><span>${job.name}</span>
${statusBadge(job.status, job.allowFailure)}</a>`,
        )}</div>`,
  )}</div>`
}

function jobTable(project: Project, jobs: readonly Job[]): Html {
  return html`<table><tbody>${jobs.map(
    (job) => html`<tr><td>${statusBadge(job.status, job.allowFailure)}</td>
<td class="name"><a href="${link(project, 'jobs', job.id)}">${job.name}</a> <span class="soft">attempt ${job.attempt}</span></td>
<td class="soft">${job.failureReason ?? ''}</td><td class="end soft">${time(job.finishedAt)}</td></tr>`,
  )}</tbody></table>`
}

function refLink(project: Project, pipeline: Pipeline): Html {
  const iid = pipeline.mergeRequestIid
  if (iid === null) return html`<a href="${link(project, 'tree', pipeline.ref)}"><code>${pipeline.ref}</code></a>`
  return html`<a href="${link(project, 'merge_requests', iid)}">merge request !${iid}</a>`
}

function took({ startedAt, finishedAt }: Pick<Job, 'startedAt' | 'finishedAt'>): string {
  const seconds = secondsBetween(startedAt, finishedAt)
  return seconds === null ? '' : ` · took ${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
}
