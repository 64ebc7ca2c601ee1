/** Which merge requests a list shows, and in what order. */
import type { SandboxContext } from '../context.ts'
import type { MergeRequest, Project } from '../state.ts'
import { isDraft } from './status.ts'

/** The query parameters of the list, by their own names. */
export interface ListFilter {
  readonly state?: string | undefined
  readonly source_branch?: string | undefined
  readonly target_branch?: string | undefined
  readonly source_project_id?: number | undefined
  readonly iids?: readonly number[] | undefined
  readonly labels?: readonly string[] | undefined
  readonly author_id?: number | undefined
  readonly author_username?: string | undefined
  readonly draft?: string | undefined
  readonly search?: string | undefined
  readonly in?: string | undefined
  readonly order_by?: 'created_at' | 'updated_at' | 'merged_at' | 'title' | undefined
  readonly sort?: string | undefined
  readonly updated_after?: string | undefined
  readonly updated_before?: string | undefined
  readonly created_after?: string | undefined
  readonly created_before?: string | undefined
}

function fitsLabels(mergeRequest: MergeRequest, labels: readonly string[] | undefined): boolean {
  if (labels === undefined || labels.length === 0) return true
  if (labels.length === 1 && labels[0]?.toLowerCase() === 'none') return mergeRequest.labels.length === 0
  if (labels.length === 1 && labels[0]?.toLowerCase() === 'any') return mergeRequest.labels.length > 0
  return labels.every((label) => mergeRequest.labels.includes(label))
}

function fitsSearch(mergeRequest: MergeRequest, { search, in: where = 'title,description' }: ListFilter): boolean {
  if (search === undefined || search === '') return true
  const word = search.toLowerCase()
  const fields = where.split(',')
  return (
    (fields.includes('title') && mergeRequest.title.toLowerCase().includes(word)) ||
    (fields.includes('description') && mergeRequest.description.toLowerCase().includes(word))
  )
}

function within(time: string, after: string | undefined, before: string | undefined): boolean {
  const at = Date.parse(time)
  return (after === undefined || at >= Date.parse(after)) && (before === undefined || at <= Date.parse(before))
}

function fits(context: SandboxContext, mergeRequest: MergeRequest, filter: ListFilter): boolean {
  const draft = filter.draft === undefined ? undefined : filter.draft === 'true' || filter.draft === 'yes'
  const author = context.findUser(mergeRequest.authorId)
  return (
    (filter.state === undefined || filter.state === 'all' || mergeRequest.state === filter.state) &&
    (filter.source_branch === undefined || mergeRequest.sourceBranch === filter.source_branch) &&
    (filter.target_branch === undefined || mergeRequest.targetBranch === filter.target_branch) &&
    (filter.source_project_id === undefined || mergeRequest.projectId === filter.source_project_id) &&
    (filter.iids === undefined || filter.iids.includes(mergeRequest.iid)) &&
    (filter.author_id === undefined || mergeRequest.authorId === filter.author_id) &&
    (filter.author_username === undefined || author?.username === filter.author_username) &&
    (draft === undefined || isDraft(mergeRequest) === draft) &&
    fitsLabels(mergeRequest, filter.labels) &&
    fitsSearch(mergeRequest, filter) &&
    within(mergeRequest.updatedAt, filter.updated_after, filter.updated_before) &&
    within(mergeRequest.createdAt, filter.created_after, filter.created_before)
  )
}

export function selectMergeRequests(context: SandboxContext, project: Project, filter: ListFilter): MergeRequest[] {
  const keys = {
    created_at: (mergeRequest: MergeRequest) => mergeRequest.createdAt,
    updated_at: (mergeRequest: MergeRequest) => mergeRequest.updatedAt,
    merged_at: (mergeRequest: MergeRequest) => mergeRequest.mergedAt ?? '',
    title: (mergeRequest: MergeRequest) => mergeRequest.title,
  }
  const key = keys[filter.order_by ?? 'created_at']
  const found = context.state.mergeRequests.filter(
    (mergeRequest) => mergeRequest.projectId === project.id && fits(context, mergeRequest, filter),
  )
  // Several of one instant come in the order of their numbers.
  found.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.iid - b.iid))
  return filter.sort === 'asc' ? found : found.reverse()
}
