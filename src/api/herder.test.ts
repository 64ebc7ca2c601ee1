import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../../test/support/api.ts'
import { KNOWN_JOB } from '../../test/support/fake-herder.ts'
import { herderCoverageSchema, herderStatsSchema, herderTestSchema } from '../contract/herder.ts'

let api: TestApi

beforeEach(async () => {
  api = await startTestApi()
})
afterEach(() => api.app.close())

const testOf = (url: string) => `/herder/test?job_url=${encodeURIComponent(url)}`

describe('what the herder knows', () => {
  test('is told of every item type that has one', async () => {
    const stats = herderStatsSchema.parse((await api.get('/herder/stats?days=7', 'operator')).json())
    expect(stats.matchers).toMatchObject([{ item_type: 'note', matcher: 'lost-runner', succeeded: 7 }])
    expect(Date.now() - Date.parse(stats.since)).toBeGreaterThan(6.9 * 86_400_000)
    const coverage = herderCoverageSchema.parse((await api.get('/herder/coverage?limit=1', 'noteOperator')).json())
    expect(coverage).toMatchObject({ failures: 12, known: 8, unknown: [{ item_type: 'note' }] })
  })

  test('about one job is told condition by condition', async () => {
    const answer = herderTestSchema.parse((await api.get(testOf(KNOWN_JOB), 'operator')).json())
    expect(answer).toMatchObject({ matcher: 'flaky', log: 'hidden', job: { id: 7 } })
  })

  test('about a job that nobody knows is nothing', async () => {
    const answer = await api.get(testOf('https://gitlab.example.com/x/-/jobs/8'), 'operator')
    expect(answer.json()).toMatchObject({ status: 404, code: 'job_not_found' })
  })

  test.each(['reader', 'all', 'notes'] as const)('is not for %s, who does not administer', async (caller) => {
    for (const path of ['/herder/stats', '/herder/coverage', testOf(KNOWN_JOB)]) {
      expect((await api.get(path, caller)).json()).toMatchObject({ status: 403, code: 'permission_denied' })
    }
  })

  test.each([['/herder/stats?days=0'], ['/herder/coverage?limit=501'], ['/herder/test'], ['/herder/stats?day=1']])(
    'is not asked for with %s',
    async (path) => {
      expect((await api.get(path, 'operator')).json()).toMatchObject({ status: 400, code: 'invalid_request' })
    },
  )
})
