/** Made-up mr items for tests of the pure parts: everything at rest, and what the test gives on top. */
import { mrConfigSchema } from '../../src/item-types/mr/config.ts'
import type { MrDetail } from '../../src/item-types/mr/detail.ts'
import { type MrSubmission, mrSubmissionSchema } from '../../src/item-types/mr/schema.ts'
import type { Dimension } from '../../src/queue/dimension.ts'
import type { Snapshot } from '../../src/queue/item-type.ts'
import type { WorkItem } from '../../src/queue/work-item.ts'
import { newWorkItem } from './work-item.ts'

export const NOON = new Date('2026-03-02T12:00:00Z')
const MORNING = new Date('2026-03-02T08:00:00Z')

const PROJECT = 'Group/widgets'

/** A submission as a caller may send it. */
export function mrBody(given: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    item_type: 'mr',
    project: PROJECT,
    source_branch: 'bot/change',
    title: 'Add a note',
    file_actions: [{ action: 'create', file_path: 'docs/note.md', content: 'A note.\n' }],
    ...given,
  }
}

export function mrSubmission(given: Readonly<Record<string, unknown>> = {}): MrSubmission {
  return mrSubmissionSchema.parse(mrBody(given))
}

/** A submission that touches this one path. */
export function touching(path: string): MrSubmission {
  return mrSubmission({ file_actions: [{ action: 'upsert', file_path: path, content: 'x' }] })
}

export function mrPolicy(
  project: Readonly<Record<string, unknown>> = {},
  limits: Readonly<Record<string, number>> = {},
  rest: Readonly<Record<string, unknown>> = {},
) {
  return mrConfigSchema.parse({ projects: [{ path: PROJECT, ...project }], limits, ...rest })
}

/** By name: `'true'`, `'false'`, or needed but put off until then. */
export type GivenDimensions = Readonly<Record<string, 'true' | 'false' | Date>>

export function mrSnapshot(
  given: {
    readonly item?: Partial<WorkItem>
    readonly detail?: Partial<MrDetail>
    readonly dimensions?: GivenDimensions
  } = {},
): Snapshot<MrDetail> {
  const dimensions = Object.entries(given.dimensions ?? {}).map(
    ([dimension, status]): Dimension => ({
      dimension,
      variant: '',
      status: status === 'false' ? 'false' : 'true',
      pendingUntil: status instanceof Date ? status : null,
      note: null,
      updatedAt: MORNING,
    }),
  )
  return { item: { ...ITEM, ...given.item }, detail: { ...DETAIL, ...given.detail }, dimensions, now: NOON }
}

const ITEM = newWorkItem({ dedupKey: `mr:${PROJECT}:bot/change` })

const DETAIL: MrDetail = {
  project: PROJECT,
  sourceBranch: 'bot/change',
  targetBranch: null,
  title: 'Add a note',
  description: '',
  labels: [],
  assignees: [],
  reviewers: [],
  autoMerge: true,
  squash: false,
  removeSourceBranch: true,
  expiresAfterMs: null,
  forceOverwrite: false,
  projectId: 7,
  resolvedTarget: 'main',
  mrIid: 3,
  webUrl: 'https://gitlab.example.com/Group/widgets/-/merge_requests/3',
  writtenSha: 'a'.repeat(40),
  writtenHash: 'b'.repeat(64),
  rebuildWanted: false,
  headSha: 'a'.repeat(40),
  headPipelineId: 11,
  headPipelineStatus: 'running',
  detailedMergeStatus: 'mergeable',
  mergeRefusal: null,
  unsettledLooks: 0,
  mergeCommitSha: null,
  mergedAt: null,
  expiresAt: null,
  needsReview: false,
  reviewedSha: null,
  overwrittenSha: null,
  noteId: null,
  waitsFor: null,
  ciFinding: null,
  builds: null,
}
