import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import type { Locking } from './outcome-sql.ts'

export interface Release {
  readonly id: string
  readonly epoch: bigint
  /** Goes behind everything that is due now: it has had its time (decision 0044). */
  readonly toTheBack: boolean
}

/**
 * Gives leases back and leaves `actionable` as it is: whatever is left to do stays visible to the sweep. Answers which are
 * settled: given back, or another's by now. The others had their rows locked.
 */
export function createReleaseLeases(db: Database) {
  const texts = { skip: text('skip'), wait: text('wait') }
  return async (releases: readonly Release[], locking: Locking): Promise<ReadonlySet<string>> => {
    const input = releases.map(({ id, epoch, toTheBack }) => ({ id, epoch: String(epoch), to_the_back: toTheBack }))
    const { rows } = await runPrepared<{ id: string }>(db, texts[locking], [JSON.stringify(input)])
    return new Set(rows.map(({ id }) => id))
  }
}

function text(locking: Locking): string {
  return `
    with input as materialized (
      select * from jsonb_to_recordset($1::jsonb) input (id uuid, epoch bigint, to_the_back boolean)
    ),
    held as materialized (
      select item.id
      from work_items item
      join input on input.id = item.id
      where item.lease_epoch = input.epoch
      for no key update of item ${locking === 'skip' ? 'skip locked' : ''}
    ),
    released as (
      update work_items item
      set leased_until = null,
          unfinished_claims = 0,
          due_at = case when input.to_the_back then now() else item.due_at end
      from held
      join input on input.id = held.id
      where item.id = held.id
      returning item.id
    )
    select input.id
    from input
    left join work_items item on item.id = input.id
    left join released on released.id = input.id
    where released.id is not null
       or item.lease_epoch is distinct from input.epoch`
}
