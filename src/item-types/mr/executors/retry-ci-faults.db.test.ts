/** Every retry is made once, whatever becomes of its call, its answer, the lease, or whoever else may run the job again. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMrWorld, type MrWorld } from '../../../../test/support/mr-world.ts'
import { errorOfAnswer, networkError } from '../../../gitlab/errors.ts'

const CI = `
workflow: { branches: none }
jobs: { unit: { outcomes: [{ status: failed, failure_reason: runner_system_failure }, success] } }
`
const CALL = { method: 'POST', endpoint: 'projects/1/jobs/2/retry' }

let world: MrWorld
let branch: string
let last = 0

beforeAll(async () => {
  world = await createMrWorld({
    files: { 'README.md': '# Widgets\n', '.sandbox-ci.yml': CI },
    mr: { herder: { delay: '0s', breaker: { failures: 1_000 } } },
  })
})
afterAll(() => world.remove())

beforeEach(async () => {
  last += 1
  branch = `bot/retry-${last}`
  await world.database.db.deleteFrom('mr_ci_failures').execute()
})

function submit(): Promise<string> {
  const file_actions = [{ action: 'create', file_path: `docs/retry-${last}.md`, content: 'A note.\n' }]
  return world.submit({ source_branch: branch, file_actions, auto_merge: true })
}

const retries = () => world.server.writes({ kind: 'retry_job', branch })

async function blockerOf(id: string) {
  const [blocker] = (await world.queue.get(id)).presentation.blockers
  return blocker
}

/** Works until the first blocker says this. */
async function workUntil(id: string, part: string): Promise<string> {
  await world.work(id)
  for (let round = 0; round < 12; round += 1) {
    const message = (await blockerOf(id))?.message ?? ''
    if (message.includes(part)) return message
    await world.later(id)
  }
  throw new Error(`it waits for ${JSON.stringify(await blockerOf(id))}`)
}

const decisions = () => world.database.db.selectFrom('mr_ci_failures').select(['decision', 'outcome']).execute()

describe('a retry', () => {
  test.each<[string, () => void]>([
    ['is refused', () => world.refuse('retryJob', networkError(CALL, 'ECONNRESET'))],
    [
      'is refused for now',
      () => world.refuse('retryJob', errorOfAnswer(CALL, { status: 503, text: '', retryAfter: null })),
    ],
    ['is done but its answer is lost', () => world.loseAnswer('retryJob')],
    ['is done but answered only after the lease was lost', () => world.answerLate('retryJob')],
    ['is stopped before it began', () => world.stopBefore('retryJob')],
  ])('that %s is made once all the same', async (_fault, plan) => {
    const id = await submit()
    plan()
    await world.workToTheEnd(id)
    expect((await world.look(id)).item).toMatchObject({ resolution: 'merged', attempts: 0 })
    expect(retries()).toHaveLength(1)
    expect(await decisions()).toEqual([{ decision: 'retried', outcome: 'success' }])
  })

  test('that arrives after its own repetition changes nothing any more', async () => {
    const id = await submit()
    world.hold('retryJob')
    await world.workToTheEnd(id)
    expect(retries()).toHaveLength(1)
    expect(await world.landHeld()).toMatchObject({ retried: false })
    expect(retries()).toHaveLength(1)
  })

  test('that somebody else makes first is not made again', async () => {
    const id = await submit()
    world.alter('retryJob', async (given) => {
      await world.server.call('POST', `/jobs/${given[1]}/retry`, undefined, 'developer')
      return given
    })
    await world.workToTheEnd(id)
    expect((await world.look(id)).item.resolution).toBe('merged')
    expect(retries().map(({ user }) => user)).toEqual(['developer'])
    expect(await decisions()).toEqual([{ decision: 'refused', outcome: 'success' }])
  })

  test('that GitLab lets nobody make is told, and asked for again later', async () => {
    const id = await submit()
    world.answer('retryJob', { retried: false, message: '403 Forbidden' })
    expect(await workUntil(id, 'does not let')).toBe(
      'job unit failed: runner_system_failure; GitLab does not let the service run it again (403 Forbidden)',
    )
    expect((await world.look(id)).item).toMatchObject({ attempts: 0, lastError: null })
    await world.workToTheEnd(id)
    expect(retries()).toHaveLength(1)
  })

  test('is not given up for good where GitLab does not show the jobs, and no item ends by it', async () => {
    const id = await submit()
    world.refuse(
      'listJobs',
      errorOfAnswer(CALL, { status: 403, text: '{"message":"403 Forbidden"}', retryAfter: null }),
    )
    await workUntil(id, 'GitLab does not show its jobs to the service (403 Forbidden)')
    expect((await world.look(id)).item).toMatchObject({ attempts: 0, lastError: null })
    await world.workToTheEnd(id)
    expect(retries()).toHaveLength(1)
  })
})
