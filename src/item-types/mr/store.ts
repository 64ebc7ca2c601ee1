/**
 * SQL over mr_details. The queue writes and reads the rows (`mrDetails`): what the caller owns by submissions only, what the
 * service observed by actions only, so that an action in flight never undoes a submission. `file_actions` may be megabytes:
 * only readContent touches it.
 */
import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import type { DetailTable } from '../../queue/detail-table.ts'
import type { MrDetail } from './detail.ts'
import type { Pointers } from './events/schema.ts'
import { fileActionsSchema, type MrSubmission } from './schema.ts'

/** The detail table as the queue writes and reads it; `canonical` gives a project the spelling of the configuration. */
export function mrDetails(canonical: (submission: MrSubmission) => MrSubmission): DetailTable<MrSubmission, MrDetail> {
  return {
    table: 'mr_details',
    submitted: [
      ...['project', 'source_branch', 'target_branch', 'title', 'description', 'commit_message', 'file_actions'],
      ...['labels', 'assignees', 'reviewers', 'auto_merge', 'squash', 'remove_source_branch'],
      ...['expires_after_ms', 'force_overwrite'],
    ],
    observed: [
      ...['project_id', 'resolved_target', 'mr_iid', 'web_url', 'written_sha', 'written_hash', 'rebuild_wanted'],
      ...['head_sha', 'head_pipeline_id', 'head_pipeline_status', 'detailed_merge_status', 'merge_refusal'],
      ...['unsettled_looks', 'merge_commit_sha', 'merged_at', 'expires_at', 'needs_review', 'reviewed_sha'],
      ...['overwritten_sha', 'note_id', 'waits_for', 'ci_finding', 'builds'],
    ],
    unread: ['commit_message', 'file_actions'],
    fromSubmission: (submission) => toColumns(canonical(submission)),
    fromDetail,
    toDetail: (row) => toDetail(row as unknown as MrDetailRow),
  }
}

function fromDetail(detail: MrDetail) {
  return {
    project_id: detail.projectId,
    resolved_target: detail.resolvedTarget,
    mr_iid: detail.mrIid,
    web_url: detail.webUrl,
    written_sha: detail.writtenSha,
    written_hash: detail.writtenHash,
    rebuild_wanted: detail.rebuildWanted,
    head_sha: detail.headSha,
    head_pipeline_id: detail.headPipelineId,
    head_pipeline_status: detail.headPipelineStatus,
    detailed_merge_status: detail.detailedMergeStatus,
    merge_refusal: detail.mergeRefusal,
    unsettled_looks: detail.unsettledLooks,
    merge_commit_sha: detail.mergeCommitSha,
    merged_at: detail.mergedAt,
    expires_at: detail.expiresAt,
    needs_review: detail.needsReview,
    reviewed_sha: detail.reviewedSha,
    overwritten_sha: detail.overwrittenSha,
    note_id: detail.noteId,
    waits_for: detail.waitsFor,
    ci_finding: detail.ciFinding,
    builds: detail.builds,
  }
}

/** The whole submission as it stands now, files included, read in one statement so that its parts belong together. */
export async function readContent(db: Database, workItemId: string): Promise<MrSubmission> {
  const row = await db
    .selectFrom('mr_details')
    .select([
      ...(['project', 'source_branch', 'target_branch', 'title', 'description', 'commit_message'] as const),
      ...([
        'file_actions',
        'labels',
        'assignees',
        'reviewers',
        'auto_merge',
        'squash',
        'remove_source_branch',
        'expires_after_ms',
        'force_overwrite',
      ] as const),
    ])
    .where('work_item_id', '=', workItemId)
    .executeTakeFirstOrThrow(() => new Error(`work item ${workItemId} has no row in mr_details`))
  const { target_branch, file_actions, expires_after_ms, ...columns } = row
  return {
    item_type: 'mr',
    ...columns,
    ...(target_branch === null ? {} : { target_branch }),
    ...(expires_after_ms === null ? {} : { expires_after: Number(expires_after_ms) }),
    file_actions: fileActionsSchema.parse(file_actions),
  }
}

/** The newest items, whose submissions `readContent` reads. */
export async function listSubmitted(
  db: Database,
  limit: number,
): Promise<readonly { readonly workItemId: string; readonly phase: string }[]> {
  return db
    .selectFrom('mr_details')
    .innerJoin('work_items', 'work_items.id', 'mr_details.work_item_id')
    .select(['mr_details.work_item_id as workItemId', 'work_items.phase'])
    .orderBy('mr_details.work_item_id', 'desc')
    .limit(limit)
    .execute()
}

/** Did the service itself write this commit to this branch, in this or an earlier life of the same identity? */
export async function isOwnCommit(db: Database, projectId: number, branch: string, sha: string): Promise<boolean> {
  const row = await db
    .selectFrom('mr_details')
    .select('work_item_id')
    .where('project_id', '=', BigInt(projectId))
    .where('source_branch', '=', branch)
    .where('written_sha', '=', sha)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** A push to a busy target would otherwise wake every item at once; the rest is found by its own interval. */
const MAX_ITEMS_OF_AN_EVENT = 200

/** Active items with the merge request, the head pipeline or a branch that an event names, for each of these events. */
export async function findItemsByPointers(
  db: Database,
  pointers: readonly Pointers[],
): Promise<readonly (readonly string[])[]> {
  const input = pointers.map(({ projectId, mrIid, pipelineId, sourceBranch, targetBranch }, place) => {
    return {
      place,
      project_id: projectId,
      mr_iid: mrIid,
      pipeline_id: pipelineId,
      source: sourceBranch,
      target: targetBranch,
    }
  })
  const { rows } = await runPrepared<{ place: number; id: string }>(db, FIND_BY_POINTERS, [JSON.stringify(input)])
  const found = Map.groupBy(rows, ({ place }) => place)
  return pointers.map((_, place) => (found.get(place) ?? []).map(({ id }) => id))
}

// What an event does not name is null, and equal to nothing.
const FIND_BY_POINTERS = `
  select input.place, found.id
  from jsonb_to_recordset($1::jsonb) input
    (place int, project_id bigint, mr_iid bigint, pipeline_id bigint, source text, target text)
  cross join lateral (
    select item.id
    from mr_details detail
    join work_items item on item.id = detail.work_item_id
    where item.phase = 'active'
      and detail.project_id = input.project_id
      and (
        detail.mr_iid = input.mr_iid
        or detail.head_pipeline_id = input.pipeline_id
        or detail.source_branch = input.source
        or detail.resolved_target = input.target
      )
    order by item.id
    limit ${MAX_ITEMS_OF_AN_EVENT}
  ) found
  order by input.place, found.id`

/** Active items that what was merged as this commit belongs to. */
export async function findItemsByMergeCommit(db: Database, sha: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('mr_details')
    .innerJoin('work_items', 'work_items.id', 'mr_details.work_item_id')
    .select('work_items.id')
    .where('work_items.phase', '=', 'active')
    .where('mr_details.merge_commit_sha', '=', sha)
    .orderBy('work_items.id')
    .limit(MAX_ITEMS_OF_AN_EVENT)
    .execute()
  return rows.map(({ id }) => id)
}

function toColumns(submission: MrSubmission) {
  const { item_type: _, target_branch, expires_after, ...columns } = submission
  return { ...columns, target_branch: target_branch ?? null, expires_after_ms: expires_after ?? null }
}

/** A row as JSON carries it: GitLab's numbers are far below 2^53, instants are text. */
type MrDetailRow = Omit<ReturnType<typeof toColumns>, 'commit_message' | 'file_actions'> &
  Omit<ReturnType<typeof fromDetail>, 'merged_at' | 'expires_at'> & {
    readonly merged_at: string | null
    readonly expires_at: string | null
  }

function toDetail(row: MrDetailRow): MrDetail {
  return {
    project: row.project,
    sourceBranch: row.source_branch,
    targetBranch: row.target_branch,
    title: row.title,
    description: row.description,
    labels: row.labels,
    assignees: row.assignees,
    reviewers: row.reviewers,
    autoMerge: row.auto_merge,
    squash: row.squash,
    removeSourceBranch: row.remove_source_branch,
    expiresAfterMs: row.expires_after_ms,
    forceOverwrite: row.force_overwrite,
    projectId: row.project_id,
    resolvedTarget: row.resolved_target,
    mrIid: row.mr_iid,
    webUrl: row.web_url,
    writtenSha: row.written_sha,
    writtenHash: row.written_hash,
    rebuildWanted: row.rebuild_wanted,
    headSha: row.head_sha,
    headPipelineId: row.head_pipeline_id,
    headPipelineStatus: row.head_pipeline_status,
    detailedMergeStatus: row.detailed_merge_status,
    mergeRefusal: row.merge_refusal,
    unsettledLooks: row.unsettled_looks,
    mergeCommitSha: row.merge_commit_sha,
    mergedAt: row.merged_at === null ? null : new Date(row.merged_at),
    expiresAt: row.expires_at === null ? null : new Date(row.expires_at),
    needsReview: row.needs_review,
    reviewedSha: row.reviewed_sha,
    overwrittenSha: row.overwritten_sha,
    noteId: row.note_id,
    waitsFor: row.waits_for,
    ciFinding: row.ci_finding,
    builds: row.builds,
  }
}
