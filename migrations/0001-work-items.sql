-- The generic queue table: what every kind of work has (decisions 0002, 0006, 0007, 0039, 0049).
create table work_items (
  id                  uuid        primary key,
  item_type           text        not null,
  phase               text        not null default 'active'
                      check (phase in ('active', 'completed', 'failed', 'cancelled')),
  resolution          text,
  actionable          boolean     not null default false,
  attempts            integer     not null default 0,
  transient_failures  integer     not null default 0,
  failing_since       timestamptz,
  last_error          jsonb,
  retry_at            timestamptz,
  leased_until        timestamptz,
  lease_epoch         bigint      not null default 0,
  revision            bigint      not null default 0,
  dedup_key           text        not null,
  generation          integer     not null default 1 check (generation > 0),
  idempotency_key     text        not null generated always as (dedup_key || ':' || generation) stored,
  content_hash        text        not null,
  parent_id           uuid        references work_items (id) on delete set null,
  caller_identity     text        not null,
  created_at          timestamptz not null default now(),
  updated_at          timestamptz not null default now(),
  last_event_at       timestamptz,
  constraint terminal_has_resolution check ((phase = 'active') = (resolution is null))
);

-- One item per identity and life (decision 0039), and one live item per identity: without the second index, retrying an
-- old cancelled generation could put two live items on one branch.
create unique index work_items_idempotency_key on work_items (idempotency_key) where phase not in ('completed', 'cancelled');
create unique index work_items_live_dedup_key on work_items (dedup_key) where phase in ('active', 'failed');
create index work_items_dedup_key on work_items (dedup_key, generation desc);

-- The sweep's first probe: due work only, so that its cost does not grow with the number of idle items.
create index work_items_actionable on work_items ((coalesce(retry_at, created_at))) where actionable and phase = 'active';

create index work_items_item_type on work_items (item_type, id desc);
create index work_items_phase on work_items (phase, id desc);
