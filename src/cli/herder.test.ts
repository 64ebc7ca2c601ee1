import { tmpdir } from 'node:os'
import { beforeEach, describe, expect, test } from 'vitest'
import { startTestApi, type TestApi } from '../../test/support/api.ts'
import { KNOWN_JOB } from '../../test/support/fake-herder.ts'
import { startWq } from '../../test/support/wq.ts'

let api: TestApi
let url: string

beforeEach(async () => {
  api = await startTestApi()
  url = await api.app.listen({ host: '127.0.0.1', port: 0 })
  return async () => {
    api.app.server.closeAllConnections()
    await api.app.close()
  }
})

const herder = (...args: readonly string[]) =>
  startWq(['herder', ...args], { env: { WQ_URL: url, WQ_TOKEN: api.tokens.operator.token }, cwd: tmpdir() }).ended

describe('wq herder', () => {
  test('test shows what each matcher says of a job, and which one decides', async () => {
    const { status, out, err } = await herder('test', KNOWN_JOB)
    expect([status, err]).toEqual([0, ''])
    expect(out.split('\n')).toEqual([
      'unit (stage test) of group/name is failed: script_failure',
      'GitLab does not show its log, or not in time: nothing can be matched there.',
      '',
      'lost-runner (service, retry) does not fit',
      '  ✗ failure_reason: runner_system_failure | api_failure',
      '  ? log_tail: EOF',
      'flaky (project, ignore) fits, and decides',
      '  ✓ job: un*',
      '',
      'flaky knows it, and leaves it as it is.',
      '',
    ])
  })

  test('test of a job that nobody knows ends with 9', async () => {
    const { status, err } = await herder('test', 'https://gitlab.example.com/x/-/jobs/8')
    expect(status).toBe(9)
    expect(err).toContain('/-/jobs/123')
  })

  test('coverage lists what no matcher knew, and names of others move no cursor', async () => {
    const { status, out } = await herder('coverage')
    expect(status).toBe(0)
    expect(out).toMatch(/^Matchers knew 8 of 12 failed runs since .* UTC, 66 %\n/)
    expect(out).toMatch(new RegExp(`^3 +2 +group/name +unit \\[2J +script_failure +${KNOWN_JOB}$`, 'm'))
    expect(out).toContain('known by lint-crash since')
    expect(JSON.parse((await herder('coverage', '--limit', '1', '--json')).out).unknown).toHaveLength(1)
  })

  test('stats tells what came of retries, and which job needs them nearly always', async () => {
    const { out } = await herder('stats', '--days', '7')
    expect(out).toMatch(/^lost-runner +12 +10 +7 +2 +1$/m)
    expect(out).toMatch(/^group\/name +e2e +9 +8 of 9 +7$/m)
    expect(out.match(/needs a retry nearly always/g)).toHaveLength(1)
    expect(out).toContain('e2e of group/name needs')
  })

  test.each([
    [['stats', '--days', '0'], 'Give 1 to 365.'],
    [['test'], "missing required argument 'job-url'"],
  ])('%j is wrong usage', async (args, message) => {
    const { status, err } = await herder(...args)
    expect(status).toBe(2)
    expect(err).toContain(message)
  })
})
