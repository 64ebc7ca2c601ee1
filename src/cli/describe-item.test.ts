import { expect, test } from 'vitest'
import type { WorkItemView } from '../contract/work-item.ts'
import { fullText, progressText } from './describe-item.ts'
import { createOutput } from './output.ts'

const { colors } = createOutput()
const ERROR = { code: 'branch_not_owned', message: 'The branch is not ours.', at: '2026-03-02T10:00:00Z' }

function anItem(changes: Partial<WorkItemView>): WorkItemView {
  return {
    ...{
      id: '01890a5d-ac96-774b-bcce-b302099a8057',
      item_type: 'mr',
      phase: 'active',
      resolution: null,
      generation: 1,
    },
    ...{
      dedup_key: 'mr:p:b',
      idempotency_key: 'mr:p:b:1',
      caller_identity: 'token:ci',
      actionable: false,
      attempts: 0,
    },
    ...{ last_error: null, retry_at: null, revision: 1, summary: 'A change', links: [], blockers: [], detail: {} },
    ...{ created_at: '2026-03-02T09:00:00Z', updated_at: '2026-03-02T09:00:00.123Z', dimensions: [] },
    ...changes,
  }
}

const blocker = (code: string, message: string, since: string | null = null) => ({
  code,
  message,
  since,
  cleared_by: 'CI',
  links: [],
})

test('says an error once, whether it ended the item or is tried again', () => {
  const failed = anItem({
    ...{ phase: 'failed', resolution: ERROR.code, attempts: 1, last_error: ERROR },
    blockers: [blocker(ERROR.code, ERROR.message)],
  })
  expect(progressText(failed).text).toBe('failed (branch_not_owned)  The branch is not ours. (up to CI)')
  expect(
    fullText(failed, colors)
      .join('\n')
      .match(/is not ours/g),
  ).toHaveLength(1)
  const again = anItem({ ...failed, phase: 'active', resolution: null, attempts: 2 })
  expect(progressText(again).text).toBe('active  The branch is not ours. (up to CI)  attempt 3 follows')
})

test('says an error that no blocker tells', () => {
  const item = anItem({ last_error: ERROR, attempts: 1, blockers: [blocker('waiting_for_pipeline', 'It runs.')] })
  expect(progressText(item).text).toBe(
    'active  It runs. (up to CI)  attempt 2 follows  last error: The branch is not ours.',
  )
  expect(fullText(item, colors)).toContain('last error    branch_not_owned: The branch is not ours.')
})

test('is the same news while only the time of a blocker moves, and needs no time when it is new', () => {
  const now = new Date('2026-03-02T10:01:02Z')
  const [first, second] = ['2026-03-02T10:00:00Z', '2026-03-02T10:00:05Z'].map((since) =>
    progressText(anItem({ blockers: [blocker('writing', 'It is being written.', since)] }), now),
  )
  expect(first?.text).toContain('since 2026-03-02 10:00:00 UTC')
  expect(second?.text).toBe('active  It is being written. (up to CI)')
  expect(first?.said).toBe(second?.said)
})

test('shows what is needed only while somebody will see to it', () => {
  const dimensions = [{ name: 'needs_mr', variant: '', status: 'true' as const, pending_until: null, note: null }]
  expect(fullText(anItem({ dimensions }), colors)).toContain('  needs_mr  needed')
  expect(fullText(anItem({ dimensions, phase: 'cancelled' }), colors).join()).not.toContain('needs_mr')
})
