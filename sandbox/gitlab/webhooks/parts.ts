/**
 * The pieces that several hook bodies share: people, projects, commits, labels, and times in the form that hooks use
 * (`2026-03-02 10:02:20 UTC`, whole seconds) where REST has ISO 8601.
 */
import type { SandboxContext } from '../context.ts'
import { type Commit, readCommit } from '../git/repository.ts'
import { presentProjectBasic, projectUrl } from '../present/project.ts'
import type { Project } from '../state.ts'

export function hookTime(iso: string): string
export function hookTime(iso: string | null): string | null
export function hookTime(iso: string | null): string | null {
  return iso === null ? null : `${new Date(iso).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

export function hookUser(context: SandboxContext, id: number): object {
  const user = context.findUser(id)
  return {
    id,
    name: user?.name ?? '',
    username: user?.username ?? '',
    avatar_url: null,
    email: '[REDACTED]',
  }
}

/** The short form, in pipeline and job hooks. */
export function hookProjectShort(context: SandboxContext, project: Project): object {
  const { id, name, description, web_url, ssh_url_to_repo, http_url_to_repo, namespace } = presentProjectBasic(
    context,
    project,
  )
  return {
    id,
    name,
    description,
    web_url,
    avatar_url: null,
    git_ssh_url: ssh_url_to_repo,
    git_http_url: http_url_to_repo,
    namespace: namespace.name,
    visibility_level: 0,
    path_with_namespace: project.pathWithNamespace,
    default_branch: project.defaultBranch,
    ci_config_path: '',
  }
}

export function hookProject(context: SandboxContext, project: Project): object {
  const { web_url, ssh_url_to_repo, http_url_to_repo } = presentProjectBasic(context, project)
  return {
    ...hookProjectShort(context, project),
    homepage: web_url,
    url: ssh_url_to_repo,
    ssh_url: ssh_url_to_repo,
    http_url: http_url_to_repo,
  }
}

export function hookRepository(context: SandboxContext, project: Project): object {
  const { name, description, web_url, ssh_url_to_repo } = presentProjectBasic(context, project)
  return { name, url: ssh_url_to_repo, description, homepage: web_url }
}

/** In push and job hooks, with the clone addresses. */
export function hookRepositoryLong(context: SandboxContext, project: Project): object {
  const { ssh_url_to_repo, http_url_to_repo } = presentProjectBasic(context, project)
  return {
    ...hookRepository(context, project),
    git_http_url: http_url_to_repo,
    git_ssh_url: ssh_url_to_repo,
    visibility_level: 0,
  }
}

export function hookCommit(context: SandboxContext, project: Project, commit: Commit): object {
  return {
    id: commit.sha,
    message: hookMessage(commit),
    title: commit.title,
    timestamp: commit.committer.date.replace(/\.\d{3}/, ''),
    url: `${projectUrl(context, project)}/-/commit/${commit.sha}`,
    author: { name: commit.author.name, email: commit.author.email },
  }
}

/** A commit by its id; null when the repository no longer has it. */
export async function hookCommitAt(context: SandboxContext, project: Project, sha: string): Promise<object | null> {
  const commit = await readCommit(context.git(project), sha)
  return commit && hookCommit(context, project, commit)
}

export function hookMessage(commit: Commit): string {
  return `${commit.message.trimEnd()}\n`
}

export function hookLabels(project: Project, names: readonly string[]): readonly object[] {
  const at = hookTime(project.createdAt)
  return names.toSorted().map((title) => ({
    id: project.id * 1000 + project.labels.indexOf(title) + 1,
    title,
    color: '#428bca',
    project_id: project.id,
    created_at: at,
    updated_at: at,
    template: false,
    description: null,
    type: 'ProjectLabel',
    group_id: null,
  }))
}
