/** The dry run of a submission: what the upsert would do with it, and what its type says would change outside. */
import type { Database } from '../db/database.ts'
import { MAX_FINDINGS } from '../lib/finding.ts'
import type { AnyItemType, PreviewOptions } from './item-type.ts'
import { readLiveWorkItem } from './sql/read-live-work-item.ts'
import { isForeign, isUnchanged, ownedByAnother, type Submitter } from './submit-work-item.ts'
import type { Inspection, SubmissionOutcome } from './work-queue.ts'

const NOTHING = { policy: {}, changes: [] }

export async function previewSubmission(
  db: Database,
  type: AnyItemType,
  submission: unknown,
  submitter: Submitter,
  options: PreviewOptions,
): Promise<Inspection> {
  const refusals = (await type.inspect(submission)).slice(0, MAX_FINDINGS)
  if (refusals.length > 0) return { outcome: null, findings: refusals, ...NOTHING }
  const preview = (await type.preview?.(submission, options)) ?? { findings: [], ...NOTHING }
  const findings = preview.findings.slice(0, MAX_FINDINGS)
  return {
    ...preview,
    findings,
    outcome: findings.length > 0 ? null : await outcomeOf(db, type, submission, submitter),
  }
}

/** @throws WorkQueueError `owned_by_another_caller`. */
async function outcomeOf(
  db: Database,
  type: AnyItemType,
  submission: unknown,
  submitter: Submitter,
): Promise<SubmissionOutcome> {
  const { dedupKey, contentHash } = type.identify(submission)
  const live = await readLiveWorkItem(db, dedupKey)
  if (live === null) return 'created'
  if (await isUnchanged(db, type, live, contentHash)) return 'unchanged'
  if (isForeign(live, submitter)) throw ownedByAnother(live)
  return live.phase === 'failed' ? 'retried' : 'updated'
}
