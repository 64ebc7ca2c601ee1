/** What the herder found, in words for people: which jobs failed, how often and why, and what becomes of them. Pure. */
import type { Link } from '../../../queue/item-type.ts'
import type { CiFinding } from '../detail.ts'
import type { Judgement, KnownFailure, Obstacle } from './judge.ts'

type Reason = CiFinding['reason']

/** More failed jobs than this are counted, not named. */
const MAX_NAMED = 3
const MAX_LINKS = 10
const MAX_NAME = 100

/** None of them is run again. */
export function explainLeft({ obstacles }: Pick<Judgement, 'obstacles'>, failures: readonly KnownFailure[]): Reason {
  // Those that stand in the way come first: of the others one would ask why they are not run again.
  const ordered = [...obstacles.keys(), ...failures.filter((failure) => !obstacles.has(failure))]
  const said = ordered.map((failure) => `${sentenceOf(failure)}${remarkOf(failure, obstacles.get(failure))}`)
  return {
    code: 'pipeline_not_green',
    message: join(said),
    clearedBy: 'CI, or a changed submission',
    links: linksOf(ordered),
  }
}

/** They wait for their next run. */
export function explainWaiting(
  waitsFor: NonNullable<Judgement['waitsFor']>,
  until: Date,
  failures: readonly KnownFailure[],
): Reason {
  const why = {
    delay: '',
    budget: ', because the budget for retries is spent until then',
    breaker: ', unless so much goes on failing in all projects',
  }
  const who = failures.length === 1 ? 'it is' : 'they are'
  const when = `${until.toISOString().slice(11, 16)} UTC`
  return {
    code: 'retrying_ci',
    message: `${join(failures.map(sentenceOf))}; ${who} run again at ${when}${why[waitsFor]}`,
    clearedBy: 'the service',
    links: linksOf(failures),
  }
}

/** They were run again just now. */
export function explainRetried(failures: readonly KnownFailure[]): Reason {
  const said = failures.map((failure) => {
    const { matcher, runs } = failure
    return `${sentenceOf(failure)} (${matcher?.name}, retry ${runs} of ${matcher?.maxRetries})`
  })
  return {
    code: 'retrying_ci',
    message: `${join(said)}; ${failures.length === 1 ? 'it was' : 'they were'} run again`,
    clearedBy: 'the service',
    links: linksOf(failures),
  }
}

/** GitLab does not run them again for the service. */
export function explainRefused(failures: readonly KnownFailure[], answer: string): Reason {
  return {
    code: 'pipeline_not_green',
    message: `${join(failures.map(sentenceOf))}; GitLab does not let the service run it again (${answer})`,
    clearedBy: 'a maintainer, by running it again or with the role Developer for the service',
    links: linksOf(failures),
  }
}

/** GitLab does not show the jobs to the service. */
export function explainHidden(answer: string): Reason {
  return {
    code: 'pipeline_not_green',
    message: `the pipeline has failed, and GitLab does not show its jobs to the service (${answer})`,
    clearedBy: 'CI, or a changed submission',
  }
}

/** `job build-arm64 failed 3 times: script_failure` */
function sentenceOf({ kind, name, failures, failureReason, isCanceled }: KnownFailure): string {
  const what = `${kind === 'job' ? 'job' : 'the pipeline of'} ${nameText(name)}`
  if (isCanceled) return `${what} was canceled`
  return `${what} failed${failures > 1 ? ` ${failures} times` : ''}: ${failureReason}`
}

function remarkOf({ matcher }: KnownFailure, obstacle: Obstacle | undefined): string {
  switch (obstacle) {
    case 'reported':
      return ` (${matcher?.message ?? matcher?.name})`
    case 'exhausted':
      return ` (${matcher?.name}, which allows no more retries)`
    default:
      return ''
  }
}

function join(sentences: readonly string[]): string {
  const rest = sentences.length - MAX_NAMED
  const named = sentences.slice(0, MAX_NAMED).join('; ')
  return rest > 0 ? `${named}; and ${rest} more` : named
}

function linksOf(failures: readonly KnownFailure[]): readonly Link[] {
  return failures
    .filter(({ webUrl }) => /^https?:\/\//.test(webUrl))
    .slice(0, MAX_LINKS)
    .map(({ name, webUrl }) => ({ name: nameText(name), url: webUrl }))
}

/** Jobs are named by whoever writes the pipeline's definition. */
function nameText(name: string): string {
  const plain = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return plain.length > MAX_NAME ? `${plain.slice(0, MAX_NAME)}…` : plain
}
