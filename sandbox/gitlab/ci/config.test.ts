import { expect, test } from 'vitest'
import { asksToSkipCi, parseCiConfig } from './config.ts'

test('reads a job with all its defaults', () => {
  expect(parseCiConfig('jobs: { unit: {} }')).toEqual({
    config: {
      stages: ['build', 'test', 'deploy'],
      mergeRequests: true,
      branches: 'default',
      mergedResults: null,
      jobs: [
        {
          name: 'unit',
          stage: 'test',
          seconds: 1,
          log: '',
          outcomes: [{ status: 'success', failureReason: null, log: null }],
          when: 'on_success',
          interruptible: false,
          allowFailure: false,
          only: null,
        },
      ],
    },
  })
})

test('reads scripted outcomes in both spellings', () => {
  const parsed = parseCiConfig(`
jobs:
  unit:
    outcomes:
      - { status: failed, failure_reason: runner_system_failure, log: "no space left" }
      - failed
      - success
`)
  expect(parsed).toMatchObject({
    config: {
      jobs: [
        {
          outcomes: [
            { status: 'failed', failureReason: 'runner_system_failure', log: 'no space left' },
            { status: 'failed', failureReason: 'script_failure', log: null },
            { status: 'success', failureReason: null, log: null },
          ],
        },
      ],
    },
  })
})

test.each([
  ['names the line of broken YAML', 'jobs: [', /Invalid configuration format.*line 1/],
  ['names an unknown key', 'jobs: { unit: { script: [make] } }', /jobs:unit: .*script/],
  ['names a value of the wrong type', 'jobs: { unit: { seconds: soon } }', /jobs:unit:seconds: .*number/],
  ['names an outcome that does not exist', 'jobs: { unit: { outcomes: [maybe] } }', /jobs:unit:outcomes:0/],
  [
    'names a stage that is not listed',
    'stages: [a]\njobs: { unit: { stage: b } }',
    /unit job: chosen stage b does not exist/,
  ],
  ['asks for at least one job', 'jobs: {}', /at least one visible job/],
  ['refuses a file that is no mapping', 'hello', /file: /],
  ['refuses an empty file', '', /file: /],
])('%s', (_title, text, error) => {
  expect(parseCiConfig(text)).toEqual({ error: expect.stringMatching(error) })
})

test('lets manual jobs fail unless the file says otherwise', () => {
  const parsed = parseCiConfig('jobs: { a: { when: manual }, b: { when: manual, allow_failure: false } }')
  expect(parsed).toMatchObject({ config: { jobs: [{ allowFailure: true }, { allowFailure: false }] } })
})

test.each([
  ['Fix it [skip ci]', true],
  ['Fix it [CI SKIP]', true],
  ['Fix it [ci-skip]', true],
  ['Skip ci of the old kind', false],
])('%s asks to skip: %s', (message, skips) => expect(asksToSkipCi(message)).toBe(skips))
