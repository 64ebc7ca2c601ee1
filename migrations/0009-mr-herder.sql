-- What the herder has found and done about failed jobs (decisions 0047 and 0077). Never a line of their logs.
alter table mr_details
  -- What it found about the head pipeline: pipeline_id, judged, state, reason. Null: nothing has failed since.
  add column ci_finding  jsonb;

-- One row a run that failed: what matchers are tuned by, and what budgets and the breaker are counted from.
create table mr_ci_failures (
  project_id      bigint       not null,
  -- GitLab's number of this run; a retry makes another one.
  job_id          bigint       not null,
  project         text         not null,
  -- The head pipeline of the merge request, also where the job ran in a child of it.
  pipeline_id     bigint       not null,
  job_name        text         not null,
  stage           text         not null,
  failure_reason  text         not null,
  web_url         text         not null,
  -- Null: no matcher knew it.
  matcher         text,
  action          text,
  -- Which run of the job it was, from 1.
  run             integer      not null,
  -- What was decided last: retried, waiting, no_use, or why not.
  decision        text         not null,
  seen_at         timestamptz  not null default now(),
  -- When the service ran the job again; null: it did not.
  retried_at      timestamptz,
  -- How the next run ended; null: not known.
  outcome         text         check (outcome in ('success', 'failed', 'canceled')),
  primary key (project_id, job_id)
);

create index mr_ci_failures_seen on mr_ci_failures (seen_at);
create index mr_ci_failures_retried on mr_ci_failures (project_id, retried_at) where retried_at is not null;
