-- What an operator holds (decision 0085): null = any. Nothing that fits is worked on.
create table pauses (
  id              uuid        primary key,
  item_type       text,
  concurrency_key text,
  caller_identity text,
  reason          text        not null,
  created_by      text        not null,
  created_at      timestamptz not null default now(),
  constraint one_pause_a_scope unique nulls not distinct (item_type, concurrency_key, caller_identity)
);
