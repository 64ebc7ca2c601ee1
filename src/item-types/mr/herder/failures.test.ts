import { expect, test } from 'vitest'
import { findFailures, findOutcomes, type Run } from './failures.ts'

function run(id: number, status: string, given: Partial<Run> = {}): Run {
  const reason = status === 'failed' ? 'runner_system_failure' : null
  const job = { name: 'unit', stage: 'test', allowFailure: false, failureReason: reason, webUrl: '' }
  return { ...job, id, status, kind: 'job', pipelineId: 5, ...given }
}

test('of each job only the latest run counts, in whatever order they come', () => {
  expect(findFailures([run(3, 'success'), run(1, 'failed'), run(2, 'failed')])).toEqual([])
  expect(findFailures([run(2, 'failed'), run(3, 'failed'), run(1, 'failed')])).toMatchObject([
    { jobId: 3, runs: 3, failures: 3 },
  ])
})

test('jobs of the same name in parent and child are two', () => {
  expect(findFailures([run(1, 'failed'), run(2, 'success', { pipelineId: 6 })])).toHaveLength(1)
})

test('a job that may fail is no failure, and one that still runs is none yet', () => {
  expect(findFailures([run(1, 'failed', { allowFailure: true }), run(2, 'running', { name: 'lint' })])).toEqual([])
})

test('a reason that GitLab does not give is an unknown one', () => {
  expect(findFailures([run(1, 'failed', { failureReason: null })])).toMatchObject([
    { failureReason: 'unknown_failure' },
  ])
})

test('what came of a run is how the next one ended, once it has', () => {
  expect(findOutcomes([run(1, 'failed'), run(2, 'failed'), run(3, 'running')])).toEqual([
    { jobId: 1, outcome: 'failed' },
  ])
  expect(findOutcomes([run(1, 'failed'), run(2, 'success')])).toEqual([{ jobId: 1, outcome: 'success' }])
})
