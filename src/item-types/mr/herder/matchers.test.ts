import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mrPolicy } from '../../../../test/support/mr-item.ts'
import { BUILT_IN_MATCHERS } from './built-in-matchers.ts'
import { checkConditions, createRules, findMatcher, type JobFacts, type Log, type Rules } from './matchers.ts'

function rulesOf(matchers: readonly object[], general: object = { built_in_matchers: false }): Rules {
  const config = mrPolicy({ herder: { matchers } }, {}, { herder: general })
  const [project] = config.projects
  if (project === undefined) throw new Error('no project')
  return createRules(config)(project)
}

const job = (given: Partial<JobFacts> = {}): JobFacts => ({
  name: 'unit',
  stage: 'test',
  failureReason: 'script_failure',
  ...given,
})

function found(rules: Rules, facts: JobFacts, log?: Log): string | null {
  const matcher = findMatcher(rules.matchers, facts, log)
  return matcher === null || matcher === 'needs_log' ? matcher : matcher.name
}

const retry = (name: string, match: object) => ({ name, match, action: 'retry' })

describe('a matcher', () => {
  test.each<[string, string, boolean]>([
    ['build-*', 'build-arm64', true],
    ['build-*', 'rebuild-arm64', false],
    ['*', 'anything/at: [all] 1/3', true],
    ['unit [a-c]', 'unit [a-c]', true],
    ['unit [a-c]', 'unit b', false],
    ['*: [*, arm64]', 'build: [debug, arm64]', true],
    ['a*a', 'a', false],
    ['a**b*c', 'a-b-b-c', true],
    ['*.test', 'xtest', false],
    ['Unit', 'unit', false],
  ])('of jobs %s and the job %s', (glob, name, fits) => {
    expect(found(rulesOf([retry('it', { job: glob })]), job({ name }))).toBe(fits ? 'it' : null)
  })

  test('fits when all its conditions do, each of them by one of its values', () => {
    const rules = rulesOf([retry('it', { job: ['unit', 'lint'], stage: 'test', failure_reason: ['api_failure', 'x'] })])
    expect(found(rules, job({ name: 'lint', failureReason: 'api_failure' }))).toBe('it')
    expect(found(rules, job({ name: 'lint' }))).toBeNull()
    expect(found(rules, job({ stage: 'build', failureReason: 'x' }))).toBeNull()
  })

  test.each([
    ['stuck_or_timeout_failure', 'no_updates_running', true],
    ['stuck_or_timeout_failure', 'stuck_pending_with_matching_runners', true],
    ['job_execution_timeout', 'server_timeout_running', true],
    ['no_updates_running', 'stuck_or_timeout_failure', false],
  ])('of the reason %s and a job with %s', (expected, failureReason, fits) => {
    const rules = rulesOf([retry('it', { failure_reason: expected })])
    expect(found(rules, job({ failureReason }))).toBe(fits ? 'it' : null)
  })

  test('asks for the log only where everything else fits, and before a later one may decide', () => {
    const rules = rulesOf([retry('log', { job: 'unit', log_tail: 'No space left' }), retry('last', { stage: 'test' })])
    expect(found(rules, job({ name: 'lint' }))).toBe('last')
    expect(found(rules, job())).toBe('needs_log')
    expect(found(rules, job(), 'No space left on device')).toBe('log')
    expect(found(rules, job(), '')).toBe('last')
    expect(found(rules, job(), null)).toBe('last')
  })

  test('reads ^ and $ as the ends of a line', () => {
    const rules = rulesOf([retry('it', { log_tail: '^fatal: .*early EOF$' })])
    expect(found(rules, job(), 'x\nfatal: early EOF\ny')).toBe('it')
    expect(found(rules, job(), 'a fatal: early EOF')).toBeNull()
  })

  test('of the project is asked before those of the service, and these before the built-in ones', () => {
    const general = { matchers: [retry('service', { stage: 'test' })] }
    const facts = job({ failureReason: 'runner_system_failure' })
    expect(found(rulesOf([retry('project', { job: 'unit' })], general), facts)).toBe('project')
    expect(found(rulesOf([], general), facts)).toBe('service')
    expect(found(rulesOf([], {}), facts)).toBe('lost-runner')
  })

  test('explains itself condition by condition', () => {
    const [matcher] = rulesOf([retry('it', { job: 'unit', failure_reason: 'api_failure', log_tail: 'x' })]).matchers
    if (matcher === undefined) throw new Error('no matcher')
    const holds = (log: Log) => checkConditions(matcher, job(), log).map((condition) => condition.holds)
    expect(holds(undefined)).toEqual([true, false, null])
    expect(holds('x')).toEqual([true, false, true])
  })
})

describe('the built-in matchers', () => {
  const rules = rulesOf([], {})

  test.each<[string, string, string | null]>([
    ['runner_system_failure', 'lost-runner', null],
    ['runner_interrupted', 'lost-runner', null],
    ['no_updates_running', 'lost-runner', null],
    ['stuck_pending_no_matching_runners', 'no-runner', null],
    ['runner_configuration_error', 'operator-needed', null],
    ['api_failure', 'gitlab-hiccup', null],
    ['unknown_failure', 'unknown-failure', ''],
  ])('know %s as %s', (failureReason, name, log) => {
    expect(found(rules, job({ failureReason }), log)).toBe(name)
  })

  test.each<[string, string]>([
    ["fatal: unable to access 'https://x/y.git/': The requested URL returned error: 503", 'git-network'],
    ['error: RPC failed; curl 56 GnuTLS recv error (-9)', 'git-network'],
    [
      'WARNING: Failed to pull image with policy "always": Error response from daemon: Get "https://r/v2/": net/http: TLS handshake timeout',
      'image-pull',
    ],
    ['ERROR: Uploading artifacts as "archive" to coordinator... error', 'artifact-transfer'],
    ['curl: (56) Recv failure: Connection reset by peer', 'script-network'],
    ['npm error code ECONNRESET', 'script-network'],
    ['E: Failed to fetch http://deb/x.deb  503  Service Unavailable', 'script-network'],
  ])('know by its log: %s', (line, name) => {
    expect(found(rules, job(), `$ make\n${line}\nERROR: Job failed: exit code 1\n`)).toBe(name)
  })

  test.each([
    'AssertionError: expected 200 to equal 503',
    "fatal: unable to access 'https://x/y.git/': The requested URL returned error: 403",
    'FAIL src/network.test.ts > says so when a connection is reset',
    'error: src/a.ts(3,1): connection is not defined',
    'ERROR: Job failed: exit code 1',
  ])('do not know: %s', (line) => {
    expect(found(rules, job(), `${line}\n`)).toBeNull()
  })

  test('have names of their own, and say what they report', () => {
    const names = BUILT_IN_MATCHERS.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })

  test('answer any log, soon', () => {
    fc.assert(fc.property(fc.string({ maxLength: 2_000 }), (log) => void found(rules, job(), log)))
    const startedAt = performance.now()
    found(rules, job(), `${"fatal: unable to access '".repeat(30)}\n`.repeat(90))
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })
})
