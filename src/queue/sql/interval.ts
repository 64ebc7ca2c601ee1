import { type RawBuilder, sql } from 'kysely'

/** A span as a PostgreSQL interval: the process passes durations, the database alone says what time it is. */
export function milliseconds(value: number): RawBuilder<unknown> {
  return sql`make_interval(secs => ${value / 1_000}::double precision)`
}
