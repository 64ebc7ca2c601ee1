import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readPointers } from './schema.ts'

const project = { id: 42, name: 'Widgets' }
const mergeRequest = { id: 900, iid: 7, source_project_id: 42, target_project_id: 42 }

describe('readPointers', () => {
  test.each<[string, string, unknown, unknown]>([
    ['merge_request', 'its merge request', { project, object_attributes: mergeRequest }, { projectId: 42, mrIid: 7 }],
    ['note', 'its merge request', { project, merge_request: mergeRequest }, { projectId: 42, mrIid: 7 }],
    [
      'pipeline',
      'merge request, pipeline and branch',
      { project, object_attributes: { id: 5, ref: 'bot/x' }, merge_request: mergeRequest },
      { projectId: 42, mrIid: 7, pipelineId: 5, sourceBranch: 'bot/x' },
    ],
    [
      'pipeline',
      'pipeline and branch without a merge request',
      { project, object_attributes: { id: 5, ref: 'bot/x' }, merge_request: null },
      { projectId: 42, pipelineId: 5, sourceBranch: 'bot/x' },
    ],
    [
      'build',
      'its pipeline and branch',
      { project_id: 42, pipeline_id: 5, ref: 'bot/x', build_status: 'failed' },
      { projectId: 42, pipelineId: 5, sourceBranch: 'bot/x' },
    ],
    [
      'build',
      'the merge request that its pipeline is for',
      { project_id: 42, pipeline_id: 5, ref: 'refs/merge-requests/7/merge', build_status: 'success' },
      { projectId: 42, pipelineId: 5, mrIid: 7 },
    ],
    [
      'push',
      'the branch at either end',
      { project_id: 42, ref: 'refs/heads/bot/x' },
      { projectId: 42, sourceBranch: 'bot/x', targetBranch: 'bot/x' },
    ],
  ])('reads from a %s event %s', (eventType, _what, body, pointers) => {
    expect(readPointers(eventType, body)).toEqual(pointers)
  })

  test.each<[string, string, unknown]>([
    ['a fork', 'merge_request', { project, object_attributes: { ...mergeRequest, source_project_id: 1 } }],
    ['another project', 'merge_request', { project: { id: 1 }, object_attributes: mergeRequest }],
    ['a note on an issue', 'note', { project, issue: { iid: 7 } }],
    ['a pushed tag', 'push', { project_id: 42, ref: 'refs/tags/v1' }],
    ['an unknown kind', 'wiki_page', { project }],
    ['a kind that JavaScript knows', 'constructor', { project }],
    ['a number that is text', 'build', { project_id: '42', pipeline_id: 5, ref: 'x', build_status: 'failed' }],
    ['a job that has not ended', 'build', { project_id: 42, pipeline_id: 5, ref: 'x', build_status: 'running' }],
    ['no body', 'push', null],
  ])('finds nothing in %s', (_title, eventType, body) => {
    expect(readPointers(eventType, body)).toBeNull()
  })

  test('never throws, whatever the body', () => {
    const kinds = fc.constantFrom('merge_request', 'pipeline', 'build', 'note', 'push')
    fc.assert(fc.property(kinds, fc.jsonValue(), (eventType, body) => void readPointers(eventType, body)))
  })
})
