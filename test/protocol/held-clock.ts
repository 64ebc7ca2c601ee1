/**
 * What the explorer adds to a database: a clock that it holds, a look at everything that counts, a way back to an earlier
 * look, and a place where a statement can be stopped between its snapshot and its locks. The queue's statements run
 * unchanged: `now()` and the pause come in by the search path and a wrapped parameter.
 */
import { sql } from 'kysely'
import type { Database } from '../../src/db/database.ts'
import { createErrandTable } from '../support/errand-type.ts'
import { ITEM } from './actors.ts'

/** For every session of the explorer: our `now()` comes before PostgreSQL's. */
export const SEARCH_PATH = '-c search_path=held,public,pg_catalog'

/** The advisory lock that a statement meets in the pause. */
export const PAUSE_LOCK = 7_000

export async function installHeldClock(db: Database): Promise<void> {
  await createErrandTable(db)
  await sql.raw(INSTALL).execute(db)
}

const INSTALL = `
  create schema held;

  -- Like the real one it stands still in a transaction, because the setting is only changed between two of them.
  create function held.now() returns timestamptz language sql stable as $$
    select pg_catalog.current_setting('held.now')::timestamptz
  $$;

  create function held.paused(parameter anyelement) returns anyelement language plpgsql volatile as $$
  begin
    perform pg_catalog.pg_advisory_xact_lock_shared(${PAUSE_LOCK});
    return parameter;
  end $$;

  -- What the protocol reads and writes. The rest is the same in all states, so that equal states are equal texts.
  create function held.look() returns text language sql stable as $$
    select pg_catalog.jsonb_build_object(
      'item', (
        select pg_catalog.jsonb_build_object(
          'phase', phase, 'actionable', actionable, 'leased_until', leased_until, 'lease_epoch', lease_epoch,
          'revision', revision, 'wake_count', wake_count, 'retry_at', retry_at)
        from public.work_items),
      'events', (
        select coalesce(pg_catalog.jsonb_agg(
          pg_catalog.jsonb_build_object('id', id, 'name', event_type, 'dead', dead) order by id), '[]')
        from public.pending_events),
      'statuses', (
        select coalesce(pg_catalog.jsonb_agg(
          pg_catalog.jsonb_build_object(
            'dimension', dimension, 'status', status, 'revision', revision, 'pending_until', pending_until)
          order by dimension), '[]')
        from public.work_item_statuses),
      'last_event', (select last_value from public.pending_events_id_seq)
    )::text
  $$;

  -- The item gets a new version in any case, as from any write; other rows that are right already are left alone, because a
  -- statement that waits meanwhile must find them as it would have.
  create function held.restore(look jsonb) returns void language plpgsql as $$
  begin
    update public.work_items
    set phase = was.phase, actionable = was.actionable, leased_until = was.leased_until, lease_epoch = was.lease_epoch,
        revision = was.revision, wake_count = was.wake_count, retry_at = was.retry_at, last_event_at = null,
        updated_at = '2040-01-01', due_at = '2040-01-01'
    from pg_catalog.jsonb_populate_record(null::public.work_items, look -> 'item') was;

    delete from public.pending_events
    where (id, source_id) not in (
      select id, name from pg_catalog.jsonb_to_recordset(look -> 'events') was (id bigint, name text));
    insert into public.pending_events (id, work_item_id, event_type, event_at, body, source_id)
    overriding system value
    select id, '${ITEM}', name, '2030-01-01', pg_catalog.jsonb_build_object('name', name), name
    from pg_catalog.jsonb_to_recordset(look -> 'events') was (id bigint, name text)
    on conflict (id) do nothing;

    delete from public.work_item_statuses
    where dimension not in (
      select dimension from pg_catalog.jsonb_to_recordset(look -> 'statuses') was (dimension text));
    insert into public.work_item_statuses as status (work_item_id, dimension, status, revision, updated_at)
    select '${ITEM}', was.dimension, was.status, was.revision, '2040-01-01'
    from pg_catalog.jsonb_populate_recordset(null::public.work_item_statuses, look -> 'statuses') was
    on conflict (work_item_id, dimension, variant) do update
    set status = excluded.status, revision = excluded.revision
    where (status.status, status.revision) <> (excluded.status, excluded.revision);

    perform pg_catalog.setval('public.pending_events_id_seq', (look ->> 'last_event')::bigint);
  end $$;

  -- An errand that was submitted and is to wait for events: actionable, as a submission leaves it, with nothing to do.
  insert into public.work_items (id, item_type, dedup_key, content_hash, caller_identity, actionable)
  values ('${ITEM}', 'errand', 'errand:it', 'hash', 'ann', true);
  select setval('pending_events_id_seq', 1);
  insert into public.errand_details (work_item_id, name, text) values ('${ITEM}', 'it', '');
  insert into public.work_item_statuses (work_item_id, dimension, status) values ('${ITEM}', 'needs_run', 'false');`

/** Everything that counts, as one session sees it. */
export interface Look {
  /** As it came; what `held.restore` takes. */
  readonly text: string
  readonly item: {
    readonly actionable: boolean
    readonly leased_until: string | null
    readonly lease_epoch: number
  }
  readonly events: readonly { readonly name: string; readonly dead: boolean }[]
  readonly statuses: readonly { readonly status: string; readonly pending_until: string | null }[]
}

export function toLook(text: string): Look {
  return { text, ...JSON.parse(text) }
}

const EPOCH = Date.parse('2040-01-01T00:00:00Z')

/** The clock's own time, milliseconds from its start. */
export function instant(clockMs: number): string {
  return new Date(EPOCH + clockMs).toISOString()
}

export type LeaseState = 'none' | 'valid' | 'expired'

export function leaseState({ item }: Look, clockMs: number): LeaseState {
  if (item.leased_until === null) return 'none'
  return Date.parse(item.leased_until) >= EPOCH + clockMs ? 'valid' : 'expired'
}
