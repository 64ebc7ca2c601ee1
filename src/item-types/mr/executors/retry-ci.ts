/**
 * The herder: runs the failed jobs of the head pipeline again where matchers know their failures, so that nobody has to.
 * What was done already is read from GitLab's own list of runs, so it survives everything; a retry whose answer was lost shows
 * there as a run, and is not repeated. Right before each write the merge request is read once more: a newer pipeline ends all
 * retries of the older one. What failed is named to people either way. Decisions 0047 and 0077.
 */
import { GitLabError } from '../../../gitlab/errors.ts'
import type { GitLabMergeRequest, GitLabPipeline } from '../../../gitlab/port.ts'
import { contentHash } from '../../../lib/content-hash.ts'
import type { ExecutorResult } from '../../../queue/item-type.ts'
import type { MrProjectConfig } from '../config.ts'
import type { CiFinding } from '../detail.ts'
import { NEEDS_CI_RETRY, NEEDS_RECONCILE } from '../dimensions.ts'
import { explainHidden, explainLeft, explainRefused, explainRetried, explainWaiting } from '../herder/explain.ts'
import { type Failure, findFailures, findOutcomes, type Run } from '../herder/failures.ts'
import { type Judgement, judge, type KnownFailure, MAX_FAILURES } from '../herder/judge.ts'
import { readLogTail } from '../herder/log-tail.ts'
import { createRules, findMatcher, type Matcher, type Rules } from '../herder/matchers.ts'
import { readSightings, recordFailures, releaseRetries, reserveRetries } from '../herder/store.ts'
import { isPipelineOf } from '../merge-gate.ts'
import { askOf } from './answers.ts'
import { collectRuns } from './ci-runs.ts'
import { type Action, createExecutor, type MrServices, SUCCEEDED } from './context.ts'
import { recordWait } from './waiting.ts'

/** After another process has taken what was left of a budget. */
const BUDGET_WAIT_MS = 60_000

export function createRetryCi(services: MrServices) {
  const rulesOf = createRules(services.config)
  return createExecutor(services, async (action) => {
    const policy = services.inspector.policyOf(action.draft.detail.project)
    const failed = policy === null ? null : await findFailed(action, policy)
    if (policy === null || failed === null) return leaveToReconcile(action)
    return herd({ ...action, ...failed, policy, rules: rulesOf(policy) })
  })
}

interface Failed {
  readonly projectId: number
  readonly pipeline: GitLabPipeline
}

interface Herding extends Action, Failed {
  readonly policy: MrProjectConfig
  readonly rules: Rules
}

/** The head pipeline of the commit that the service wrote, if it has failed; also a green one, whose children may have. */
async function findFailed(action: Action, policy: MrProjectConfig): Promise<Failed | null> {
  const head = await readHead(action)
  if (head === null || !['failed', 'success'].includes(head.pipeline.status)) return null
  const { mergeRequest, pipeline } = head
  const { projectId, sha } = mergeRequest
  if (pipeline.sha === sha) return { projectId, pipeline }
  if (sha === null || !isPipelineOf(pipeline, sha, policy)) return null
  const { merged_result = [] } = await askOf.merged_result(action, mergeRequest, policy)
  return merged_result.includes(sha) ? { projectId, pipeline } : null
}

interface Head {
  readonly mergeRequest: GitLabMergeRequest
  readonly pipeline: GitLabPipeline
}

/** null: it is over, somebody else has pushed, or there is no pipeline. */
async function readHead({ services, draft, context }: Action): Promise<Head | null> {
  const { projectId, mrIid, writtenSha } = draft.detail
  if (projectId === null || mrIid === null || writtenSha === null) return null
  const mergeRequest = await services.gitlab.getMergeRequest(projectId, mrIid, context)
  const pipeline = mergeRequest?.headPipeline ?? null
  if (mergeRequest?.state !== 'opened' || mergeRequest.sha !== writtenSha || pipeline === null) return null
  return { mergeRequest, pipeline }
}

async function herd(herding: Herding): Promise<ExecutorResult> {
  const { services, draft, projectId, pipeline, rules } = herding
  const runs = await readRuns(herding).catch((error: unknown) => {
    if (error instanceof GitLabError && error.failure === 'permanent') return error
    throw error
  })
  // A red pipeline waits for whoever it waited for before there was a herder: what it cannot read must not end an item.
  if (runs instanceof GitLabError) return leave(herding, '', explainHidden(runs.answer))
  const failures = findFailures(runs)
  const judged = contentHash([rules.fingerprint, ...failures.map(({ jobId }) => String(jobId)).toSorted()])
  const { ciFinding } = draft.detail
  const isKnown = ciFinding?.pipelineId === pipeline.id && ciFinding.judged === judged && ciFinding.state === 'left'
  if (failures.length === 0 || isKnown) {
    draft.settle(NEEDS_CI_RETRY)
    return SUCCEEDED
  }
  if (!rules.enabled) {
    const known = failures.map((failure) => ({ ...failure, matcher: null, seenAt: null }))
    return leave(herding, judged, explainLeft({ obstacles: new Map() }, known))
  }
  const { breaker, max_delay: maxDelayMs } = rules.settings
  const jobIds = failures.map(({ jobId }) => jobId)
  const { now, seenAt, history } = await readSightings(services.db, projectId, jobIds, breaker)
  const known: KnownFailure[] = []
  for (const failure of failures) {
    const matcher = failures.length > MAX_FAILURES ? null : await knowFailure(herding, failure)
    known.push({ ...failure, matcher, seenAt: seenAt.get(failure.jobId) ?? null })
  }
  const judgement = judge({ failures: known, history, limits: { maxDelayMs, breaker }, now })
  await record(herding, known, judgement, runs)
  return follow(herding, judged, known, judgement, now)
}

function readRuns(herding: Herding): Promise<readonly Run[]> {
  const { projectId, pipeline, policy } = herding
  return collectRuns(herding, projectId, pipeline.id, policy.pipeline.children === 'require')
}

/** Asks for the log only where nothing else can tell. */
async function knowFailure(herding: Herding, failure: Failure): Promise<Matcher | null> {
  const { services, context, projectId, rules } = herding
  if (failure.kind === 'bridge' || failure.isCanceled) return null
  const first = findMatcher(rules.matchers, failure, undefined)
  if (first !== 'needs_log') return first
  const maxBytes = rules.settings.log_tail_bytes
  const tail = await services.gitlab.getJobLogTail(projectId, failure.jobId, maxBytes, context)
  const log = tail === null ? null : readLogTail(tail, Buffer.byteLength(tail) < maxBytes)
  const found = findMatcher(rules.matchers, failure, log)
  return found === 'needs_log' ? null : found
}

/** What was found and decided, for budgets, coverage and statistics; of bridges and of what was stopped there is nothing to learn. */
async function record(
  { services, draft, context, projectId, pipeline, rules }: Herding,
  failures: readonly KnownFailure[],
  { obstacles, waitsFor }: Judgement,
  runs: readonly Run[],
): Promise<void> {
  const otherwise = obstacles.size > 0 ? 'no_use' : waitsFor === null ? 'retrying' : 'waiting'
  const rows = failures
    .filter((failure) => !['canceled', 'no_job', 'too_many'].includes(obstacles.get(failure) ?? ''))
    .map((failure) => ({ ...failure, run: failure.runs, decision: obstacles.get(failure) ?? otherwise }))
  const place = { projectId, project: draft.detail.project, pipelineId: pipeline.id }
  await recordFailures(services.db, place, rows, findOutcomes(runs), rules.settings.remember)
  for (const { jobId, failureReason, matcher, runs: run, decision } of rows) {
    const facts = { work_item_id: draft.item.id, job_id: jobId, run, failure_reason: failureReason, decision }
    context.log.info({ ...facts, matcher: matcher?.name ?? null }, 'a failed job was judged')
  }
}

async function follow(
  herding: Herding,
  judged: string,
  failures: readonly KnownFailure[],
  judgement: Judgement,
  now: Date,
): Promise<ExecutorResult> {
  if (judgement.obstacles.size > 0) return leave(herding, judged, explainLeft(judgement, failures))
  const { waitingUntil } = judgement
  if (waitingUntil === null) {
    const wanted = failures.flatMap(({ jobId, matcher }) => (matcher === null ? [] : [{ jobId, matcher }]))
    if (await reserveRetries(herding.services.db, herding.projectId, wanted)) return retryAll(herding, judged, failures)
  }
  const until = waitingUntil ?? new Date(now.getTime() + BUDGET_WAIT_MS)
  const reason = explainWaiting(judgement.waitsFor ?? 'budget', until, failures)
  conclude(herding, { judged, state: 'waiting', reason })
  herding.draft.need(NEEDS_CI_RETRY, { deferMs: until.getTime() - now.getTime() })
  return SUCCEEDED
}

/** They are taken out of the budgets by now. */
async function retryAll(herding: Herding, judged: string, failures: readonly KnownFailure[]): Promise<ExecutorResult> {
  const { services, projectId } = herding
  const { refused, outdated, answer } = await retryEach(herding, failures)
  await releaseRetries(services.db, projectId, outdated, 'outdated')
  await releaseRetries(services.db, projectId, refused, 'refused')
  if (outdated.length > 0) return leaveToReconcile(herding)
  if (refused.length > 0) {
    // Somebody else may have been faster; then another run is there, and nothing is wrong.
    const still = findFailures(await readRuns(herding)).map(({ jobId }) => jobId)
    const stuck = failures.filter(({ jobId }) => refused.includes(jobId) && still.includes(jobId))
    // Judged anew at the next look: the rights may be there by then.
    if (stuck.length > 0) return leave(herding, '', explainRefused(stuck, answer))
  }
  conclude(herding, { judged, state: 'retried', reason: explainRetried(failures) })
  return leaveToReconcile(herding)
}

interface Retries {
  readonly refused: readonly number[]
  readonly outdated: readonly number[]
  /** GitLab's words to the last refusal. */
  readonly answer: string
}

async function retryEach(herding: Herding, failures: readonly KnownFailure[]): Promise<Retries> {
  const { services, context, projectId, pipeline } = herding
  const refused: number[] = []
  let answer = ''
  for (const [index, { jobId }] of failures.entries()) {
    const head = (await readHead(herding))?.pipeline
    // The first retry sets the pipeline going; until then it has to be as it was judged.
    if (head?.id !== pipeline.id || (index === 0 && head.status !== pipeline.status)) {
      return { refused, outdated: failures.slice(index).map((failure) => failure.jobId), answer }
    }
    const retry = await services.gitlab.retryJob(projectId, jobId, context)
    if (retry.retried) continue
    refused.push(jobId)
    answer = retry.message
  }
  return { refused, outdated: [], answer }
}

/** Nothing is run again, until other jobs fail or the matchers change. */
function leave(herding: Herding, judged: string, reason: CiFinding['reason']): ExecutorResult {
  conclude(herding, { judged, state: 'left', reason })
  herding.draft.settle(NEEDS_CI_RETRY)
  return SUCCEEDED
}

function conclude(herding: Herding, finding: Omit<CiFinding, 'pipelineId'>): void {
  const { draft, pipeline } = herding
  draft.detail.ciFinding = { pipelineId: pipeline.id, ...finding }
  // Where the pipeline is not all that it waits for, the last look has said so.
  const isPipeline = ['pipeline_not_green', 'retrying_ci'].includes(draft.detail.waitsFor?.code ?? '')
  if (isPipeline) recordWait(herding, finding.reason)
}

/** There is nothing to run again, or it runs: the next look follows the pipeline. */
function leaveToReconcile({ services, draft }: Action): ExecutorResult {
  draft.settle(NEEDS_CI_RETRY)
  draft.need(NEEDS_RECONCILE, { deferMs: services.config.pipeline_poll })
  return SUCCEEDED
}
