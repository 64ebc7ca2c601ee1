import { expect, test } from 'vitest'
import type { JobStatus, PipelineStatus } from '../state.ts'
import { compositeStatus, promotedStatus } from './status.ts'

/** `failed?` is a job that may fail. */
function jobs(list: string) {
  return list
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => ({ status: word.replace('?', '') as JobStatus, allowFailure: word.endsWith('?') }))
}

test.each<[string, PipelineStatus]>([
  ['', 'success'],
  ['success success', 'success'],
  ['success skipped', 'success'],
  ['success failed?', 'success'],
  ['failed?', 'success'],
  ['success canceled?', 'success'],
  ['success manual?', 'success'],
  ['manual?', 'skipped'],
  ['skipped skipped', 'skipped'],
  ['created created', 'created'],
  ['pending created', 'pending'],
  ['success pending', 'running'],
  ['success created', 'running'],
  ['success running', 'running'],
  ['failed running', 'running'],
  ['failed? running', 'running'],
  ['failed skipped', 'failed'],
  ['success failed', 'failed'],
  ['failed canceled', 'failed'],
  ['success canceled', 'canceled'],
  ['success manual created', 'manual'],
])('%s makes %s', (list, status) => expect(compositeStatus(jobs(list))).toBe(status))

test.each<[Parameters<typeof promotedStatus>[0], PipelineStatus, ReturnType<typeof promotedStatus>]>([
  ['on_success', 'success', 'pending'],
  ['on_success', 'skipped', 'pending'],
  ['on_success', 'failed', 'skipped'],
  ['on_success', 'running', null],
  ['on_success', 'manual', null],
  ['on_failure', 'success', 'skipped'],
  ['on_failure', 'failed', 'pending'],
  ['always', 'failed', 'pending'],
  ['manual', 'success', 'manual'],
  ['manual', 'failed', 'skipped'],
])('a job that runs %s after %s becomes %s', (when, prior, status) => expect(promotedStatus(when, prior)).toBe(status))
