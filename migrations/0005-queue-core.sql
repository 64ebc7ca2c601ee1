-- Wake-ups counted on the row, an order in which items are due, and limits by key (decisions 0059, 0061, 0063, 0064).
alter table work_items
  -- Items of one key share a limit of how many are worked on at a time; null = no limit.
  add column concurrency_key   text,
  -- When the present or last lease was taken.
  add column leased_at         timestamptz,
  -- Since when somebody must look.
  add column actionable_since  timestamptz not null default now(),
  -- +1 by every stored event: an exit that was decided on an older number finds that something has come.
  add column wake_count        bigint      not null default 0;

alter table work_items
  add column due_at timestamptz not null generated always as (coalesce(retry_at, actionable_since)) stored;

-- The queue proper, in the order in which items come due; the id makes it a total order, for the claim cursor. An item that
-- has ended is never actionable, so the index need not ask for the phase: of a condition on it a planner without statistics
-- expects so few rows that it would rather sort than read the index in order.
alter table work_items add constraint ended_is_not_actionable check (phase = 'active' or not actionable);
drop index work_items_actionable;
create index work_items_due on work_items (due_at, id) where actionable;

-- What housekeeping removes. A column of its own: an index over updated_at would cost every change of an item an index entry.
alter table work_items add column ended_at timestamptz;
update work_items set ended_at = updated_at where phase <> 'active';
create index work_items_ended on work_items (ended_at) where phase <> 'active';

-- What an operator asks for.
create index pending_events_dead on pending_events (id) where dead;

-- Rows of a queue live short and change often: room on each page for changes that touch no index, and a vacuum long before a
-- fifth of the table is dead.
alter table work_items set (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
alter table work_item_statuses set (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
alter table pending_events set (
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
