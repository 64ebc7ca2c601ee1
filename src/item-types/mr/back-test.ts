/**
 * The back-test of a policy: what the inspection says of submissions that were taken before, under the policy that holds and
 * under another one. It reads what is stored, one submission at a time, and asks neither GitLab nor the queue; what only the
 * target tree could tell is not found here.
 */
import type { Database } from '../../db/database.ts'
import type { Finding } from '../../lib/finding.ts'
import type { MrConfig, MrProjectConfig } from './config.ts'
import { createInspector, type Inspector } from './inspection/inspector.ts'
import type { MrSubmission } from './schema.ts'
import { listSubmitted, readContent } from './store.ts'

export type PolicyEffect = 'refused' | 'accepted' | 'review_needed' | 'review_not_needed'

/** One submission of which the other policy would say something else. */
export interface PolicyChange {
  readonly workItemId: string
  readonly phase: string
  readonly project: string
  readonly sourceBranch: string
  readonly effect: PolicyEffect
  /** Why it would be refused: under the other policy, or, where it would be accepted, under the one that holds. */
  readonly findings: readonly Finding[]
}

export interface BackTest {
  /** How many submissions were judged. */
  readonly judged: number
  readonly changes: readonly PolicyChange[]
}

export interface BackTestOptions {
  readonly current: MrConfig
  readonly proposed: MrConfig
  /** Newest first, at most so many. */
  readonly limit: number
}

export async function backTest(db: Database, { current, proposed, limit }: BackTestOptions): Promise<BackTest> {
  const [before, after] = [createInspector(current), createInspector(proposed)]
  const changes: PolicyChange[] = []
  let judged = 0
  try {
    for (const { workItemId, phase } of await listSubmitted(db, limit)) {
      const submission = await readContent(db, workItemId)
      judged += 1
      const difference = await compare(before, after, submission)
      if (difference === null) continue
      const { project, source_branch: sourceBranch } = submission
      changes.push({ workItemId, phase, project, sourceBranch, ...difference })
    }
  } finally {
    await before.close()
  }
  return { judged, changes }
}

type Judge = Inspector<MrProjectConfig>

/** null: both say the same, for whatever reasons. */
async function compare(
  before: Judge,
  after: Judge,
  submission: MrSubmission,
): Promise<Pick<PolicyChange, 'effect' | 'findings'> | null> {
  const [was, will] = [await before.inspect(submission), await after.inspect(submission)]
  if (was.length === 0 && will.length > 0) return { effect: 'refused', findings: will }
  if (was.length > 0 && will.length === 0) return { effect: 'accepted', findings: was }
  if (will.length > 0) return null
  const [reviewedBefore, reviewedAfter] = [before.needsReview(submission), after.needsReview(submission)]
  if (reviewedBefore === reviewedAfter) return null
  return { effect: reviewedAfter ? 'review_needed' : 'review_not_needed', findings: [] }
}
