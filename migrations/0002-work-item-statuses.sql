-- Dimensions: one row a trigger, with variants, put off by pending_until (decisions 0003 and 0048).
create table work_item_statuses (
  work_item_id   uuid        not null references work_items (id) on delete cascade,
  dimension      text        not null,
  variant        text        not null default '',
  status         text        not null check (status in ('true', 'false')),
  pending_until  timestamptz,
  note           text,
  -- The revision of the caller's write that last set this row. The processing loop may overwrite the row only if it has
  -- seen that revision: a change that arrives during an action is not lost.
  revision       bigint      not null default 0,
  updated_at     timestamptz not null default now(),
  primary key (work_item_id, dimension, variant),
  constraint settled_is_not_deferred check (status = 'true' or pending_until is null)
);

-- The sweep's probe for deferred dimensions that have come due.
create index work_item_statuses_pending on work_item_statuses (pending_until) where status = 'true' and pending_until is not null;
