/** Commits as JSON: the short form of lists, the long one of a single commit (with its pipeline), and statistics. */
import type { SandboxContext } from '../context.ts'
import type { Commit } from '../git/repository.ts'
import type { Project } from '../state.ts'
import { presentPipelineBasic } from './pipeline.ts'
import { projectUrl } from './project.ts'

export function presentCommit(context: SandboxContext, project: Project, commit: Commit) {
  const trailers: Record<string, string> = {}
  const extended: Record<string, string[]> = {}
  for (const [key, value] of commit.trailers) {
    trailers[key] = value
    extended[key] = [...(extended[key] ?? []), value]
  }
  return {
    id: commit.sha,
    short_id: commit.sha.slice(0, 8),
    created_at: commit.committer.date,
    parent_ids: commit.parents,
    title: commit.title,
    message: commit.message,
    author_name: commit.author.name,
    author_email: commit.author.email,
    authored_date: commit.author.date,
    committer_name: commit.committer.name,
    committer_email: commit.committer.email,
    committed_date: commit.committer.date,
    trailers,
    extended_trailers: extended,
    web_url: `${projectUrl(context, project)}/-/commit/${commit.sha}`,
  }
}

export interface CommitStats {
  readonly additions: number
  readonly deletions: number
  readonly total: number
}

export function presentCommitDetail(
  context: SandboxContext,
  project: Project,
  commit: Commit,
  stats: CommitStats | null,
) {
  const pipeline = context.state.pipelines.findLast(
    (candidate) => candidate.projectId === project.id && candidate.sha === commit.sha,
  )
  return {
    ...presentCommit(context, project, commit),
    ...(stats ? { stats } : {}),
    status: pipeline?.status ?? null,
    project_id: project.id,
    last_pipeline: pipeline ? presentPipelineBasic(context, pipeline) : null,
  }
}
