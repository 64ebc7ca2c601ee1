/** Projects as JSON, and the addresses that other records derive from a project's. */
import type { SandboxContext } from '../context.ts'
import type { Project, User } from '../state.ts'

export function projectUrl(context: SandboxContext, project: Project): string {
  return `${context.externalUrl}/${project.pathWithNamespace}`
}

function namespaceOf(project: Project): { path: string; fullPath: string } {
  const parts = project.pathWithNamespace.split('/').slice(0, -1)
  return { path: parts.at(-1) ?? '', fullPath: parts.join('/') }
}

export function presentProjectBasic(context: SandboxContext, project: Project) {
  const url = projectUrl(context, project)
  const { host, hostname } = new URL(context.externalUrl)
  const path = project.pathWithNamespace.split('/').at(-1) ?? ''
  const namespace = namespaceOf(project)
  return {
    id: project.id,
    description: project.description,
    name: path,
    name_with_namespace: project.pathWithNamespace.split('/').join(' / '),
    path,
    path_with_namespace: project.pathWithNamespace,
    created_at: project.createdAt,
    default_branch: project.emptyRepo ? null : project.defaultBranch,
    tag_list: [],
    topics: [],
    ssh_url_to_repo: `git@${hostname}:${project.pathWithNamespace}.git`,
    http_url_to_repo: `http://${host}/${project.pathWithNamespace}.git`,
    web_url: url,
    readme_url: project.emptyRepo ? null : `${url}/-/blob/${project.defaultBranch}/README.md`,
    forks_count: 0,
    avatar_url: null,
    star_count: 0,
    last_activity_at: project.createdAt,
    namespace: {
      id: project.id,
      name: namespace.path,
      path: namespace.path,
      kind: 'group',
      full_path: namespace.fullPath,
      parent_id: null,
      avatar_url: null,
      web_url: `${context.externalUrl}/groups/${namespace.fullPath}`,
    },
  }
}

export function presentProject(context: SandboxContext, project: Project, user: User) {
  const level = project.members[user.id]
  return {
    ...presentProjectBasic(context, project),
    empty_repo: project.emptyRepo,
    archived: project.archived,
    visibility: 'private',
    issues_enabled: false,
    merge_requests_enabled: project.mergeRequestsEnabled,
    wiki_enabled: false,
    jobs_enabled: true,
    snippets_enabled: false,
    creator_id: 1,
    open_issues_count: 0,
    ci_default_git_depth: 20,
    ci_config_path: '.sandbox-ci.yml',
    public_jobs: true,
    shared_with_groups: [],
    only_allow_merge_if_pipeline_succeeds: project.onlyAllowMergeIfPipelineSucceeds,
    allow_merge_on_skipped_pipeline: project.allowMergeOnSkippedPipeline,
    request_access_enabled: true,
    only_allow_merge_if_all_discussions_are_resolved: project.onlyAllowMergeIfAllDiscussionsAreResolved ?? false,
    remove_source_branch_after_merge: project.removeSourceBranchAfterMerge,
    printing_merge_request_link_enabled: true,
    merge_method: project.mergeMethod,
    squash_option: project.squashOption,
    merge_pipelines_enabled: project.mergePipelinesEnabled ?? false,
    merge_trains_enabled: false,
    suggestion_commit_message: null,
    merge_commit_template: null,
    squash_commit_template: null,
    auto_cancel_pending_pipelines: 'enabled',
    approvals_before_merge: project.approvalsRequired,
    permissions: {
      project_access: level === undefined ? null : { access_level: level, notification_level: 3 },
      group_access: null,
    },
    _links: {
      self: `${context.externalUrl}/api/v4/projects/${project.id}`,
      merge_requests: `${context.externalUrl}/api/v4/projects/${project.id}/merge_requests`,
      repo_branches: `${context.externalUrl}/api/v4/projects/${project.id}/repository/branches`,
      labels: `${context.externalUrl}/api/v4/projects/${project.id}/labels`,
      events: `${context.externalUrl}/api/v4/projects/${project.id}/events`,
      members: `${context.externalUrl}/api/v4/projects/${project.id}/members`,
    },
  }
}
