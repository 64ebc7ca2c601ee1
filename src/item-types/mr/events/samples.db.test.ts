/** The sample events of GitLab, from their bytes to what they mean for the item they are about. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts'
import { createDetails } from '../../../../test/support/details.ts'
import { mrSubmission } from '../../../../test/support/mr-item.ts'
import { readEvent } from '../../../events/read-event.ts'
import { readMessageBody } from '../../../events/sqs-message.ts'
import type { Dimension } from '../../../queue/dimension.ts'
import type { MrDetail } from '../detail.ts'
import { mrDetails } from '../store.ts'
import { createHandleEvent } from './handler.ts'
import { createResolveItems } from './resolver.ts'

const SAMPLES = join(import.meta.dirname, '../../../../../shared/gitlab-events')
const NOON = new Date('2026-12-01T12:00:00Z')
/** As the samples tell it. */
const PROJECT_ID = 4201
const MERGE_COMMIT = '14091a9f2461267ee7e02525b4f1f2923f1c9849'
const FIRST_HEAD = 'b49d72ef0c64a4acfcc56b117e1e9dbce112c912'

const LOOKS = [
  ...['open', 'update_oldrev', 'update_metadata', 'approval', 'approved', 'unapproved', 'close', 'reopen', 'merge'].map(
    (action) => `merge_request_${action}`,
  ),
  ...['pipeline_running', 'pipeline_success', 'pipeline_failed', 'pipeline_success_branch'],
  ...['build_failed_runner_system_failure', 'build_failed_script_failure'],
  ...['note_merge_request', 'push', 'push_branch_deleted'],
]
const RUN_URL = 'https://konflux.example.com/ns/{namespace}/pipelinerun/{name}'
const NO_NEWS = ['build_success', 'push_branch_created']

describe.skipIf(!existsSync(SAMPLES))('the sample events', () => {
  let database: TestDatabase
  let ids: Readonly<Record<'known' | 'fresh' | 'other', string>>
  let detail: MrDetail

  beforeAll(async () => {
    database = await createTestDatabase()
    const details = createDetails(
      database.db,
      'mr',
      mrDetails((submission) => submission),
    )
    const insert = async (branch: string, observed: Partial<MrDetail>) => {
      const id = await details.insert(mrSubmission({ source_branch: branch }))
      await details.save(id, { ...(await details.read(id)), projectId: PROJECT_ID, ...observed })
      return id
    }
    const merge = {
      mrIid: 42,
      headPipelineId: 880012,
      resolvedTarget: 'main',
      writtenSha: FIRST_HEAD,
      mergeCommitSha: MERGE_COMMIT,
    }
    ids = {
      known: await insert('queue/update-lock', merge),
      other: await insert('queue/other', { mrIid: 41, headPipelineId: 1, resolvedTarget: 'main' }),
      fresh: await insert('queue/update-lock', { projectId: PROJECT_ID + 1, mrIid: 42, headPipelineId: 880012 }),
    }
    detail = await details.read(ids.known)
  })
  afterAll(() => database.drop())

  const eventIn = (file: string) => {
    const reading = readMessageBody(readFileSync(join(SAMPLES, file), 'utf8'))
    const event = reading.kind === 'body' ? readEvent(reading.body, null, NOON) : null
    if (event === null) throw new Error(`${file} holds no event`)
    return event
  }
  const handle = (file: string, dimensions: readonly Dimension[] = []) =>
    createHandleEvent({ pipeline_run_url: RUN_URL, pipeline_poll: 30_000 })(
      { id: '1', ...eventIn(file) },
      { detail, dimensions, now: NOON },
    )

  test.each(LOOKS)('%s makes its merge request be looked at, and no other', async (name) => {
    for (const file of [`${name}.json`, `sns/${name}.json`]) {
      expect(await createResolveItems(database.db)(eventIn(file))).toEqual([ids.known])
      expect(handle(file)).toMatchObject({
        phase: null,
        dimensions: [{ dimension: 'needs_reconcile', status: 'true' }],
      })
    }
  })

  test.each(NO_NEWS)('%s concerns the merge request and is no reason to look', async (name) => {
    expect(await createResolveItems(database.db)(eventIn(`${name}.json`))).toEqual([ids.known])
    expect(handle(`${name}.json`)).toMatchObject({ phase: null, dimensions: [] })
  })
  describe('of Konflux', () => {
    const awaited: Dimension = {
      ...{ dimension: 'needs_build', variant: 'widgets-main', status: 'true', note: null },
      ...{ pendingUntil: new Date(NOON.getTime() + 60_000), updatedAt: NOON },
    }
    const link = 'https://konflux.example.com/ns/widgets-tenant/pipelinerun/widgets-main-on-push-x7k2p'

    test.each([
      ['succeeded', 'false', `Completed: Tasks Completed: 8 (Failed: 0, Cancelled 0), Skipped: 1 ${link}`],
      ['failed', 'true', `Failed: Tasks Completed: 4 (Failed: 1, Cancelled 0), Skipped: 5 ${link}`],
    ])('a run that %s tells of its component, and that there is something to look at', async (end, status, words) => {
      for (const file of [`konflux_pipelinerun_${end}.json`, `sns/konflux_pipelinerun_${end}.json`]) {
        expect(await createResolveItems(database.db)(eventIn(file))).toEqual([ids.known])
        expect(handle(file, [awaited])).toEqual({
          phase: null,
          dimensions: [
            { dimension: 'needs_build', variant: 'widgets-main', status, note: `widgets-main-on-push-x7k2p: ${words}` },
            { dimension: 'needs_build', status: 'true' },
          ],
          trigger: 'konflux:widgets-main',
        })
      }
    })

    test('a run that has begun concerns nobody', async () => {
      expect(await createResolveItems(database.db)(eventIn('konflux_pipelinerun_started.json'))).toEqual([])
    })

    test.each<[string, readonly Dimension[]]>([
      ['of a component that is not awaited', []],
      ['of a component that has succeeded', [{ ...awaited, status: 'false', pendingUntil: null }]],
    ])('a failed run %s changes nothing', (_title, dimensions) => {
      expect(handle('konflux_pipelinerun_failed.json', dimensions)).toMatchObject({ phase: null, dimensions: [] })
    })
  })
})
