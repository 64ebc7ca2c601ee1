/**
 * What an item type says about its detail table (decision 0007). It is data, not statements: the queue writes and reads
 * the detail in the same statement as the item itself, many items at a time, so that a claim, a submission and an outcome
 * are one round trip and one commit each (decision 0062).
 */

/** One row, from column name to a value that JSON can carry: arrays for arrays, ISO 8601 text for instants. */
export type DetailRow = Readonly<Record<string, unknown>>

export interface DetailTable<Submission, Detail> {
  /** `mr_details`. Its primary key is `work_item_id`, which references `work_items` and goes with it. */
  readonly table: string
  /** Columns that the caller owns; a submission writes them, an action never does. */
  readonly submitted: readonly string[]
  /** Columns that the service observes; an action's draft writes them. The table gives them defaults. */
  readonly observed: readonly string[]
  /** Submitted columns too large to be read with the item; the type reads them by a statement of its own. */
  readonly unread?: readonly string[]
  /** The values of `submitted`. */
  fromSubmission(submission: Submission): DetailRow
  /** The values of `observed`. */
  fromDetail(detail: Detail): DetailRow
  /** A row as PostgreSQL's to_jsonb makes it: `submitted` without `unread`, and `observed`. The schema is ours and trusted. */
  toDetail(row: DetailRow): Detail
}
