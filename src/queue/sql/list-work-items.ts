/**
 * One page of the list, newest first; ids are ordered in time, so an id is the cursor. The items come out of an index in that
 * order: a stream for each phase of the caller, the keys or the types that are asked for, merged. What the streams do not say
 * is asked of each item that comes out, and of no more than EXAMINED of them, so that a page costs the same at any depth and
 * however rare it is what is looked for. Such a page may be short, or empty, and says where to go on. Decision 0080.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { PHASES, type WorkItem } from '../work-item.ts'
import type { ListFilter } from '../work-queue.ts'

export type FoundItem = Pick<WorkItem, 'id' | 'itemType' | 'dedupKey' | 'concurrencyKey'>

/** `next`: the id behind which to go on; null = there is nothing more. */
export interface FoundItems {
  readonly found: readonly FoundItem[]
  readonly next: string | null
}

export type SqlFilter = Omit<ListFilter, 'isVisible'> & { readonly itemTypes: readonly string[] }

/** Items that one page looks at, at most, where it has to look at each. */
const EXAMINED = 2_000
/** More streams than that cost more to plan than they save. */
const MOST_STREAMS = 40

export async function listWorkItems(db: Database, filter: SqlFilter): Promise<FoundItems> {
  const { limit } = filter
  const { streams, conditions } = divide(filter)
  if (streams.length === 0) return { found: [], next: null }
  // One more than asked for tells whether there is another page.
  const examined = conditions.length === 0 ? limit + 1 : EXAMINED
  const fits = conditions.length === 0 ? sql<boolean>`true` : sql.join(conditions, sql` and `)
  const { rows } = await sql<ExaminedItem>`
    select id, item_type as "itemType", dedup_key as "dedupKey", concurrency_key as "concurrencyKey", fits,
           place = ${sql.lit(EXAMINED)} as "isLast"
    from (
      select *, ${fits} as fits, row_number() over () as place
      from (${newestOf(streams, examined)}) newest
    ) examined
    where fits or place = ${sql.lit(EXAMINED)}
    limit ${sql.lit(limit + 1)}`.execute(db)
  const found = rows.filter((row) => row.fits).slice(0, limit)
  if (rows.length > limit) return { found, next: rows[limit - 1]?.id ?? null }
  const last = rows.at(-1)
  return { found, next: last?.isLast === true ? last.id : null }
}

interface ExaminedItem extends FoundItem {
  readonly fits: boolean
  /** Nothing behind it was looked at. */
  readonly isLast: boolean
}

/**
 * Conditions, each of which one index answers in the order of the ids; and those that are asked of each item. The ids are
 * compared in the form that only these indexes have: where the planner may choose, it walks down the primary key past everything
 * that does not fit.
 */
interface Division {
  readonly streams: readonly RawBuilder<boolean>[]
  readonly conditions: readonly RawBuilder<boolean>[]
}

function divide({ itemTypes, phase, callerIdentity, concurrencyKeys, search, before }: SqlFilter): Division {
  const phases = phase === undefined ? PHASES : [phase]
  const older = before === undefined ? sql`` : sql`and uuid_send(id) < uuid_send(${before}::uuid)`
  const streamsOf = (column: StreamColumn, values: readonly string[]) =>
    [...new Set(values)].flatMap((value) =>
      phases.map((each) => sql<boolean>`${sql.ref(column)} = ${value} and phase = ${each} ${older}`),
    )
  const conditions: RawBuilder<boolean>[] = []
  if (search !== undefined) conditions.push(sql`dedup_key ilike ${`%${escapeLike(search)}%`}`)
  const column = streamColumn(callerIdentity, concurrencyKeys, phases.length)
  if (column !== 'item_type') conditions.push(sql`item_type = any(${itemTypes})`)
  if (column !== 'concurrency_key' && concurrencyKeys !== undefined) {
    conditions.push(sql`concurrency_key = any(${concurrencyKeys})`)
  }
  if (column === 'caller_identity') return { streams: streamsOf(column, [callerIdentity ?? '']), conditions }
  return { streams: streamsOf(column, column === 'item_type' ? itemTypes : (concurrencyKeys ?? [])), conditions }
}

type StreamColumn = 'item_type' | 'caller_identity' | 'concurrency_key'

function streamColumn(caller: string | undefined, keys: readonly string[] | undefined, phases: number): StreamColumn {
  if (caller !== undefined) return 'caller_identity'
  return keys !== undefined && keys.length * phases <= MOST_STREAMS ? 'concurrency_key' : 'item_type'
}

/** Lazy: no more is read of any stream than what is taken out of the merger. Each has to ask for the order itself. */
function newestOf(streams: Division['streams'], limit: number): RawBuilder<unknown> {
  // The number is written out: it tells the planner how little is wanted.
  const newest = sql`order by position desc limit ${sql.lit(limit)}`
  const each = streams.map(
    (stream) => sql`(
        select id, item_type, dedup_key, concurrency_key, uuid_send(id) as position
        from work_items
        where ${stream}
        ${newest}
      )`,
  )
  return sql`select * from (${sql.join(each, sql` union all `)}) merged ${newest}`
}

/** `%`, `_` and `\` mean themselves in what a person searches for. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, (character) => `\\${character}`)
}
