/** Pipelines as JSON: the short form of lists, and the long one that hangs on a merge request and answers a single read. */
import type { SandboxContext } from '../context.ts'
import type { Pipeline, PipelineStatus } from '../state.ts'
import { presentUserId } from './user.ts'

function pipelineUrl(context: SandboxContext, pipeline: Pipeline): { path: string; url: string } {
  const project = context.findProject(pipeline.projectId)
  const path = `/${project?.pathWithNamespace ?? ''}/-/pipelines/${pipeline.id}`
  return { path, url: `${context.externalUrl}${path}` }
}

export function presentPipelineBasic(context: SandboxContext, pipeline: Pipeline) {
  return {
    id: pipeline.id,
    iid: pipeline.iid,
    project_id: pipeline.projectId,
    sha: pipeline.sha,
    ref: pipeline.ref,
    status: pipeline.status,
    source: pipeline.source,
    created_at: pipeline.createdAt,
    updated_at: pipeline.updatedAt,
    web_url: pipelineUrl(context, pipeline).url,
    name: null,
  }
}

const LABELS: Partial<Record<PipelineStatus, string>> = { success: 'passed', manual: 'waiting for manual action' }

function detailedStatus(context: SandboxContext, pipeline: Pipeline) {
  const label = LABELS[pipeline.status] ?? pipeline.status
  const text =
    pipeline.status === 'success' ? 'Passed' : `${pipeline.status[0]?.toUpperCase()}${pipeline.status.slice(1)}`
  return {
    icon: `status_${pipeline.status}`,
    text,
    label,
    group: pipeline.status,
    tooltip: label,
    has_details: true,
    details_path: pipelineUrl(context, pipeline).path,
    illustration: null,
    favicon: `/assets/ci_favicons/favicon_status_${pipeline.status}.png`,
  }
}

function secondsBetween(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : Math.round((Date.parse(to) - Date.parse(from)) / 1000)
}

export function presentPipelineDetail(context: SandboxContext, pipeline: Pipeline) {
  return {
    ...presentPipelineBasic(context, pipeline),
    before_sha: pipeline.beforeSha,
    tag: false,
    yaml_errors: pipeline.yamlErrors,
    user: presentUserId(context, pipeline.userId),
    started_at: pipeline.startedAt,
    finished_at: pipeline.finishedAt,
    committed_at: null,
    duration: secondsBetween(pipeline.startedAt, pipeline.finishedAt),
    queued_duration: secondsBetween(pipeline.createdAt, pipeline.startedAt),
    coverage: null,
    detailed_status: detailedStatus(context, pipeline),
    archived: false,
  }
}
