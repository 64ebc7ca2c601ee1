import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'

/** `extended`; `unknown`: the row was locked just now, so the lease is as it was; `lost`: it is another's, or given back. */
export type Heartbeat = 'extended' | 'unknown' | 'lost'

/**
 * The heartbeat of all leases of a process, in one statement. It waits for no row: one that is locked, by a caller's write
 * or by a stuck session, is left to the next beat, so that it cannot cost the other leases theirs.
 */
export function createExtendLeases(db: Database) {
  return async (
    leases: readonly { readonly workItemId: string; readonly epoch: bigint }[],
    leaseMs: number,
  ): Promise<readonly Heartbeat[]> => {
    const ids = leases.map(({ workItemId }) => workItemId)
    const epochs = leases.map(({ epoch }) => String(epoch))
    const { rows } = await runPrepared<{ id: string; extended: boolean }>(db, TEXT, [ids, epochs, leaseMs])
    const found = new Map(rows.map(({ id, extended }) => [id, extended]))
    return ids.map((id) => {
      const extended = found.get(id)
      if (extended === undefined) return 'lost'
      return extended ? 'extended' : 'unknown'
    })
  }
}

const TEXT = `
  with input as materialized (
    select * from unnest($1::uuid[], $2::bigint[]) input (id, epoch)
  ),
  held as materialized (
    select item.id
    from work_items item
    join input on input.id = item.id
    where item.lease_epoch = input.epoch
      and item.leased_until is not null
    for no key update of item skip locked
  ),
  extended as (
    update work_items item
    set leased_until = now() + $3::double precision * interval '1 ms'
    from held
    where item.id = held.id
    returning item.id
  )
  select item.id, extended.id is not null as extended
  from work_items item
  join input on input.id = item.id
  left join extended on extended.id = item.id
  -- As of the start of this statement: a lease that was lost by then is not among these.
  where item.lease_epoch = input.epoch
    and item.leased_until is not null`
