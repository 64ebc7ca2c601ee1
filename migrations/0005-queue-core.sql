-- Wake-ups counted on the row, an order in which items are due, and limits by key (decisions 0059, 0061, 0063, 0064).
alter table work_items
  -- Items of one key share a limit of how many are worked on at a time; null = no limit.
  add column concurrency_key   text,
  -- When the present or last lease was taken.
  add column leased_at         timestamptz,
  -- Since when, or after a failure from when on, somebody must look: the order of the queue.
  add column due_at            timestamptz not null default now(),
  -- Claims in a row that ended without any outcome: an item that ends its process must not do so for ever.
  add column unfinished_claims integer     not null default 0,
  -- When it became terminal.
  add column ended_at          timestamptz,
  -- +1 by every stored event: an exit that was decided on an older number finds that something has come.
  add column wake_count        bigint      not null default 0;

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

-- Not valid: it holds for what is written from now on, and nothing is read. The next migration looks at what is there.
alter table work_items add constraint ended_is_not_actionable check (phase = 'active' or not actionable) not valid;
