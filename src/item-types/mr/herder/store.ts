/**
 * SQL over mr_ci_failures: what the herder has seen and done. One row a failed run, written before anything is done about
 * it, so that budgets hold across processes and restarts. All times are the database's. No text of a log ever comes here.
 */
import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { JobStatistics } from '../../../queue/herder.ts'
import type { Outcome } from './failures.ts'
import type { History } from './judge.ts'
import type { Matcher } from './matchers.ts'

interface Sightings {
  readonly now: Date
  readonly seenAt: ReadonlyMap<number, Date>
  readonly history: History
}

/**
 * What is known of these runs, and of what else has failed and was retried. A retry of one of these runs themselves was
 * never made, or another run would have followed it: it counts for nothing.
 */
export async function readSightings(
  db: Database,
  projectId: number,
  jobIds: readonly number[],
  breaker: { readonly failures: number; readonly window: number },
): Promise<Sightings> {
  const ids = sql`${jobIds.map(String)}::bigint[]`
  const { rows } = await sql<{ kind: string; job_id: bigint; matcher: string | null; at: Date }>`
    select 'now' as kind, 0::bigint as job_id, null as matcher, now() as at
    union all
    select 'seen', job_id, null, seen_at
    from mr_ci_failures
    where project_id = ${projectId} and job_id = any(${ids})
    union all
    select 'retry', job_id, matcher, retried_at
    from mr_ci_failures
    where project_id = ${projectId}
      and retried_at > now() - interval '1 hour'
      and job_id <> all(${ids})
    union all
    (
      select 'failure', job_id, null, seen_at
      from mr_ci_failures
      where seen_at > now() - make_interval(secs => ${breaker.window / 1_000}::double precision)
        and action = 'retry'
      order by seen_at desc
      limit ${breaker.failures}
    )
    order by at desc`.execute(db)
  const of = (kind: string) => rows.filter((row) => row.kind === kind)
  return {
    now: of('now')[0]?.at ?? new Date(0),
    seenAt: new Map(of('seen').map(({ job_id, at }) => [Number(job_id), at])),
    history: {
      retries: of('retry').map(({ matcher, at }) => ({ matcher: matcher ?? '', at })),
      failures: of('failure').map(({ at }) => at),
    },
  }
}

export interface FailureRecord {
  readonly jobId: number
  readonly name: string
  readonly stage: string
  readonly failureReason: string
  readonly webUrl: string
  readonly run: number
  readonly matcher: Matcher | null
  readonly decision: string
}

/** Records what was found and decided, and how earlier retries have ended; forgets what is too old. */
export async function recordFailures(
  db: Database,
  place: { readonly projectId: number; readonly project: string; readonly pipelineId: number },
  failures: readonly FailureRecord[],
  outcomes: readonly Outcome[],
  rememberMs: number,
): Promise<void> {
  const { projectId, project, pipelineId } = place
  const rows = failures.map(({ jobId, name, stage, failureReason, webUrl, run, matcher, decision }) => ({
    job_id: jobId,
    job_name: name,
    stage,
    failure_reason: failureReason,
    web_url: webUrl,
    matcher: matcher?.name ?? null,
    action: matcher?.action ?? null,
    run,
    decision,
  }))
  await sql`
    with forgotten as (
      delete from mr_ci_failures
      where (project_id, job_id) in (
        select project_id, job_id
        from mr_ci_failures
        where seen_at < now() - make_interval(secs => ${rememberMs / 1_000}::double precision)
        limit 500
        -- Another process may be forgetting the same.
        for update skip locked
      )
    ), settled as (
      update mr_ci_failures
      set outcome = ended.outcome
      from jsonb_to_recordset(${JSON.stringify(outcomes.map(({ jobId, outcome }) => ({ job_id: jobId, outcome })))}::jsonb)
        as ended (job_id bigint, outcome text)
      where mr_ci_failures.project_id = ${projectId}
        and mr_ci_failures.job_id = ended.job_id
        and mr_ci_failures.outcome is null
    )
    insert into mr_ci_failures as known (
      project_id, project, pipeline_id, job_id, job_name, stage, failure_reason, web_url, matcher, action,
      run, decision
    )
    select ${projectId}, ${project}, ${pipelineId}, job_id, job_name, stage, failure_reason, web_url, matcher, action,
      run, decision
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as found (
      job_id bigint, job_name text, stage text, failure_reason text, web_url text, matcher text, action text,
      run integer, decision text
    )
    on conflict (project_id, job_id) do update
    set matcher = excluded.matcher,
        action = excluded.action,
        decision = excluded.decision,
        failure_reason = excluded.failure_reason`.execute(db)
}

/**
 * Takes the retries of these recorded runs out of the budgets of their matchers, all of them or none. One transaction of a
 * project at a time, so that processes which judge at once do not spend the same budget.
 */
export function reserveRetries(
  db: Database,
  projectId: number,
  wanted: readonly { readonly jobId: number; readonly matcher: Matcher }[],
): Promise<boolean> {
  const ids = sql`${wanted.map(({ jobId }) => String(jobId))}::bigint[]`
  return db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('mr_ci_failures ' || ${String(projectId)}, 0))`.execute(tx)
    const { rows } = await sql<{ matcher: string; made: number }>`
      select matcher, count(*)::integer as made
      from mr_ci_failures
      where project_id = ${projectId}
        and retried_at > now() - interval '1 hour'
        and job_id <> all(${ids})
      group by matcher`.execute(tx)
    for (const matcher of new Set(wanted.map(({ matcher }) => matcher))) {
      const made = rows.find((row) => row.matcher === matcher.name)?.made ?? 0
      const more = wanted.filter((one) => one.matcher === matcher).length
      if (made > Math.max(0, matcher.budget - more)) return false
    }
    await sql`
      update mr_ci_failures
      set retried_at = now(), decision = 'retried'
      where project_id = ${projectId} and job_id = any(${ids})`.execute(tx)
    return true
  })
}

/** These retries were not made by the service after all. */
export async function releaseRetries(db: Database, projectId: number, jobIds: readonly number[], decision: string) {
  await sql`
    update mr_ci_failures
    set retried_at = null, decision = ${decision}
    where project_id = ${projectId} and job_id = any(${jobIds.map(String)}::bigint[])`.execute(db)
}

/** The pipeline has become green: whatever had failed in it was run again, by whomever, and has succeeded. */
export async function recordGreen(db: Database, projectId: number, pipelineId: number): Promise<void> {
  await sql`
    update mr_ci_failures
    set outcome = 'success'
    where project_id = ${projectId}
      and pipeline_id = ${pipelineId}
      and outcome is null`.execute(db)
}

export interface MatcherCounts {
  readonly matcher: string
  readonly failures: number
  readonly retries: number
  readonly succeeded: number
  readonly failed_again: number
  readonly unknown: number
}

export async function countByMatcher(db: Database, since: Date): Promise<readonly MatcherCounts[]> {
  const { rows } = await sql<MatcherCounts>`
    select
      matcher,
      count(*)::integer as failures,
      count(retried_at)::integer as retries,
      (count(*) filter (where retried_at is not null and outcome = 'success'))::integer as succeeded,
      (count(*) filter (where retried_at is not null and outcome = 'failed'))::integer as failed_again,
      (count(*) filter (where retried_at is not null and coalesce(outcome, 'canceled') = 'canceled'))::integer as unknown
    from mr_ci_failures
    where seen_at >= ${since} and matcher is not null
    group by matcher
    order by failures desc, matcher`.execute(db)
  return rows
}

type JobCounts = Omit<JobStatistics, 'last_seen_at'> & { readonly last_seen_at: Date }

/** Jobs that were run again, those that need it in most of the pipelines of their project first. */
export async function countByJob(db: Database, since: Date, limit: number): Promise<readonly JobCounts[]> {
  const { rows } = await sql<JobCounts>`
    with pipelines as (
      select project_id, pipeline_id
      from mr_ci_failures
      where seen_at >= ${since}
      union
      select project_id, head_pipeline_id
      from mr_details
      join work_items on work_items.id = mr_details.work_item_id
      where work_items.updated_at >= ${since}
        and head_pipeline_id is not null
        and project_id in (select project_id from mr_ci_failures where retried_at >= ${since})
    ), jobs as (
      select
        project_id,
        max(project) as project,
        job_name as job,
        count(*)::integer as failures,
        count(retried_at)::integer as retries,
        (count(distinct pipeline_id) filter (where retried_at is not null))::integer as pipelines_retried,
        (count(distinct pipeline_id) filter (where retried_at is not null and outcome = 'success'))::integer
          as pipelines_recovered,
        max(seen_at) as last_seen_at
      from mr_ci_failures
      where seen_at >= ${since}
      group by project_id, job_name
      having count(retried_at) > 0
    )
    select
      jobs.project, job, failures, retries, pipelines_retried, pipelines_recovered, last_seen_at,
      (select count(*)::integer from pipelines where pipelines.project_id = jobs.project_id) as pipelines_of_project
    from jobs
    order by pipelines_retried desc, retries desc, project, job
    limit ${limit}`.execute(db)
  return rows
}

interface UnknownCounts {
  readonly project: string
  readonly job: string
  readonly stage: string
  readonly failure_reason: string
  readonly failures: number
  readonly pipelines: number
  readonly recovered: number
  readonly last_seen_at: Date
  readonly last_job_url: string
}

/** What no matcher knew, most frequent first. */
export async function countUnknown(db: Database, since: Date, limit: number): Promise<readonly UnknownCounts[]> {
  const { rows } = await sql<UnknownCounts>`
    select
      max(project) as project,
      job_name as job,
      stage,
      failure_reason,
      count(*)::integer as failures,
      count(distinct pipeline_id)::integer as pipelines,
      (count(*) filter (where outcome = 'success'))::integer as recovered,
      max(seen_at) as last_seen_at,
      (array_agg(web_url order by seen_at desc))[1] as last_job_url
    from mr_ci_failures
    where seen_at >= ${since} and matcher is null
    group by project_id, job_name, stage, failure_reason
    order by failures desc, last_seen_at desc
    limit ${limit}`.execute(db)
  return rows
}

/** All failures, and those that a matcher knew. */
export async function countFailures(
  db: Database,
  since: Date,
): Promise<{ readonly failures: number; readonly known: number }> {
  const { rows } = await sql<{ failures: number; known: number }>`
    select count(*)::integer as failures, count(matcher)::integer as known
    from mr_ci_failures
    where seen_at >= ${since}`.execute(db)
  return rows[0] ?? { failures: 0, known: 0 }
}
