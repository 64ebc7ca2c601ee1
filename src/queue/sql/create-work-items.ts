import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import type { DetailRow } from '../detail-table.ts'
import type { Claimed } from './claim-sql.ts'
import { type ItemTypes, insertDetails, insertedDetails } from './detail-sql.ts'
import { WAKE_CHANNEL } from './notify-wake.ts'
import { toDetail } from './observation.ts'
import { toWorkItem, type WorkItemRow } from './work-item-row.ts'

export interface NewWorkItem {
  readonly id: string
  readonly itemType: string
  readonly dedupKey: string
  readonly contentHash: string
  readonly concurrencyKey: string | null
  readonly callerIdentity: string
  /** The row of the detail table, as JSON text. */
  readonly detail: string
  /** The item is born claimed: this process has a free worker for it (decision 0061). */
  readonly claimed: boolean
}

/** The new item, as a claim would have read it. */
export type Created = Claimed

/**
 * New items, each the next generation of its identity, born actionable: one statement and one commit for all of them. null
 * where a live item of the identity exists, was inserted at the same time, or comes earlier in the same group; the caller
 * then finds out what the submission means for that one.
 *
 * `notify`: other processes are told in the same commit; only a hint.
 */
export function createCreateWorkItems(db: Database, itemTypes: ItemTypes) {
  const text = createText(itemTypes)
  return async (
    items: readonly NewWorkItem[],
    { leaseMs, notify }: { readonly leaseMs: number; readonly notify: boolean },
  ): Promise<readonly (Created | null)[]> => {
    const { rows } = await runPrepared<CreatedRow>(db, text, [`[${items.map(toJson).join(',')}]`, leaseMs, notify])
    const created = new Map(rows.map((row) => [row.id, toCreated(itemTypes, row)]))
    return items.map(({ id }) => created.get(id) ?? null)
  }
}

interface CreatedRow extends WorkItemRow {
  readonly read_at: Date
  readonly detail: DetailRow | null
}

function toCreated(itemTypes: ItemTypes, row: CreatedRow): Created {
  const item = toWorkItem(row)
  const detail = toDetail(itemTypes, item.itemType, item.id, row.detail)
  return {
    snapshot: { item, detail, dimensions: [], now: row.read_at },
    events: [],
    moreEvents: false,
    unreadable: null,
    epoch: item.leaseEpoch,
    unfinishedClaims: item.leaseEpoch === 0n ? 0 : 1,
    dueAt: row.due_at.toISOString(),
  }
}

/** The detail may be megabytes; it is text already, and goes in as it is. */
function toJson(item: NewWorkItem): string {
  const head = JSON.stringify({
    id: item.id,
    item_type: item.itemType,
    dedup_key: item.dedupKey,
    content_hash: item.contentHash,
    concurrency_key: item.concurrencyKey,
    caller_identity: item.callerIdentity,
    claimed: item.claimed,
  })
  return `${head.slice(0, -1)},"detail":${item.detail}}`
}

function createText(itemTypes: ItemTypes): string {
  return `
    with input as materialized (
      select *
      from jsonb_to_recordset($1::jsonb) input
        (id uuid, item_type text, dedup_key text, content_hash text, concurrency_key text, caller_identity text,
         detail jsonb, claimed boolean)
    ),
    created as (
      insert into work_items
        (id, item_type, dedup_key, content_hash, concurrency_key, caller_identity, generation, actionable,
         leased_at, leased_until, lease_epoch, unfinished_claims)
      select input.id, input.item_type, input.dedup_key, input.content_hash, input.concurrency_key,
             input.caller_identity,
             1 + coalesce((
               select max(generation) from work_items earlier where earlier.dedup_key = input.dedup_key
             ), 0),
             true,
             case when input.claimed then now() end,
             case when input.claimed then now() + $2::double precision * interval '1 ms' end,
             case when input.claimed then 1 else 0 end,
             case when input.claimed then 1 else 0 end
      from input
      where not exists (
        select
        from work_items live
        where live.dedup_key = input.dedup_key
          and live.phase in ('active', 'failed'))
      -- Always in the same order, so that two groups with the same identities cannot wait for each other.
      order by input.dedup_key
      on conflict do nothing
      returning *
    ),
    source as (
      select created.id, created.item_type, input.detail
      from created
      join input on input.id = created.id
    )${insertDetails(itemTypes, 'source')},
    told as materialized (
      select pg_notify('${WAKE_CHANNEL}', '')
      where $3::boolean
    )
    select created.*, now() as read_at, inserted.detail
    from created
    join (${insertedDetails(itemTypes)}) inserted on inserted.work_item_id = created.id
    left join told on true`
}
