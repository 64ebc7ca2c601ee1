-- Events, stored raw until the item's worker has applied them (decisions 0030 and 0033).
create table pending_events (
  id            bigint      primary key generated always as identity,
  work_item_id  uuid        not null references work_items (id) on delete cascade,
  event_type    text        not null,
  event_at      timestamptz not null,
  body          jsonb       not null,
  source_id     text,
  attempts      integer     not null default 0,
  error         text,
  -- Failed five times: kept, shown and counted, and no longer in the way of the events behind it.
  dead          boolean     not null default false,
  received_at   timestamptz not null default now()
);

create index pending_events_undead on pending_events (work_item_id, id) where not dead;
-- The same delivery may arrive twice; the second one is nothing new.
create unique index pending_events_source on pending_events (work_item_id, source_id) where source_id is not null;
