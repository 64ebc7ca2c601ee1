import type { Database } from '../../db/database.ts'
import { runPrepared } from '../../db/prepared.ts'
import { heldItems, type Locking } from './outcome-sql.ts'

export interface Rest {
  readonly id: string
  readonly epoch: bigint
  /** The revision and the wake count that "nothing is left to do" was decided on. */
  readonly revision: bigint
  readonly wakeCount: bigint
}

/**
 * The exit: nothing is left to do, so the item goes to rest and the lease is given back, unless something new has come. Every
 * caller's write adds one to `revision` and every stored event adds one to `wake_count`, on this very row, which the update
 * compares: either it sees them, or they find the item at rest and make it actionable again (decisions 0049 and 0059).
 * Answers which items rest now.
 */
export function createRestWorkItems(db: Database) {
  const texts = { skip: text('skip'), wait: text('wait') }
  return async (rests: readonly Rest[], locking: Locking): Promise<ReadonlySet<string>> => {
    const input = rests.map(({ id, epoch, revision, wakeCount }) => {
      return { id, epoch: String(epoch), revision: String(revision), wake_count: String(wakeCount) }
    })
    const { rows } = await runPrepared<{ id: string }>(db, texts[locking], [JSON.stringify(input)])
    return new Set(rows.map(({ id }) => id))
  }
}

function text(locking: Locking): string {
  return `
    with input as materialized (
      select *
      from jsonb_to_recordset($1::jsonb) input (id uuid, epoch bigint, revision bigint, wake_count bigint)
    ),
    ${heldItems(locking)}
    update work_items item
    set actionable = false,
        leased_until = null,
        retry_at = null,
        unfinished_claims = 0
    from held
    join input on input.id = held.id
    where item.id = held.id
      -- No submission, retry or cancel since the decision was made.
      and item.revision = input.revision
      -- No event since the last look.
      and item.wake_count = input.wake_count
    returning item.id`
}
