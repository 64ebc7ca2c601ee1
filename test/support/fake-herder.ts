/** A herder with one answer to each question, for tests of the rooms in front of it. It knows one job. */
import { WorkQueueError } from '../../src/lib/errors.ts'
import type { Herder } from '../../src/queue/herder.ts'

export const KNOWN_JOB = 'https://gitlab.example.com/group/name/-/jobs/7'

const SEEN_AT = '2026-03-02T03:00:00.000Z'

export const fakeHerder: Herder = {
  async statistics() {
    const place = { project: 'group/name', failures: 9, last_seen_at: SEEN_AT }
    return {
      matchers: [{ matcher: 'lost-runner', failures: 12, retries: 10, succeeded: 7, failed_again: 2, unknown: 1 }],
      jobs: [
        { ...place, job: 'e2e', retries: 9, pipelines_retried: 8, pipelines_recovered: 7, pipelines_of_project: 9 },
        { ...place, job: 'unit', retries: 1, pipelines_retried: 1, pipelines_recovered: 1, pipelines_of_project: 9 },
      ],
    }
  },
  async coverage(_since, limit) {
    const row = {
      ...{ project: 'group/name', job: 'unit\u001b[2J', stage: 'test', failure_reason: 'script_failure', failures: 3 },
      ...{ pipelines: 3, recovered: 2, last_seen_at: SEEN_AT, last_job_url: KNOWN_JOB, known_by: null },
    }
    return { failures: 12, known: 8, unknown: [row, { ...row, job: 'lint', known_by: 'lint-crash' }].slice(0, limit) }
  },
  async test(jobUrl) {
    if (jobUrl !== KNOWN_JOB) throw new WorkQueueError('job_not_found', `There is no job at ${jobUrl}.`)
    return {
      job: {
        ...{ project: 'group/name', id: 7, name: 'unit', stage: 'test', status: 'failed' },
        ...{ failure_reason: 'script_failure', allow_failure: false, url: KNOWN_JOB },
      },
      log: 'hidden',
      matcher: 'flaky',
      verdict: 'flaky knows it, and leaves it as it is.',
      matchers: [
        {
          ...{ name: 'lost-runner', source: 'service', action: 'retry', fits: false },
          conditions: [
            { about: 'failure_reason', expected: ['runner_system_failure', 'api_failure'], holds: false },
            { about: 'log_tail', expected: ['EOF'], holds: null },
          ],
        },
        {
          ...{ name: 'flaky', source: 'project', action: 'ignore', fits: true },
          conditions: [{ about: 'job', expected: ['un*'], holds: true }],
        },
      ],
    }
  },
}
