/** What is stored, read with a statement of its own and told in the model's words, so that the two can be compared. */
import { sql } from 'kysely'
import { z } from 'zod'
import type { Database } from '../../src/db/database.ts'

const rowSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  generation: z.number(),
  phase: z.string(),
  resolution: z.string().nullable(),
  text: z.string(),
  done_text: z.string().nullable(),
  actionable: z.boolean(),
  attempts: z.number(),
  transient_failures: z.number(),
  unfinished_claims: z.number(),
  failing_hours: z.number().nullable(),
  waits: z.boolean(),
  lease: z.enum(['none', 'valid', 'expired']),
  epoch: z.number(),
  revision: z.number(),
  wake_count: z.number(),
  last_event_at: z.number().nullable(),
  dimensions: z.array(
    z.strictObject({ key: z.string(), needed: z.boolean(), deferred: z.boolean(), revision: z.number() }),
  ),
  events: z.array(z.strictObject({ label: z.string(), attempts: z.number(), dead: z.boolean() })),
})
export type ObservedItem = z.infer<typeof rowSchema>

/** Every item there is, by id. */
export async function observe(db: Database): Promise<ReadonlyMap<string, ObservedItem>> {
  const { rows } = await sql`
    select item.id, detail.name, item.generation, item.phase, item.resolution, detail.text, detail.done_text,
           item.actionable, item.attempts, item.transient_failures, item.unfinished_claims,
           round(extract(epoch from now() - item.failing_since) / 3600)::int as failing_hours,
           coalesce(item.retry_at > now(), false) as waits,
           case when leased_until is null then 'none' when leased_until >= now() then 'valid' else 'expired' end as lease,
           item.lease_epoch::int as epoch, item.revision::int as revision, item.wake_count::int as wake_count,
           extract(epoch from item.last_event_at)::float as last_event_at,
           (
             select coalesce(jsonb_agg(jsonb_build_object(
                      'key', dimension || '/' || variant, 'needed', status = 'true',
                      'deferred', coalesce(pending_until > now(), false), 'revision', revision)
                      order by dimension, variant), '[]')
             from work_item_statuses
             where work_item_id = item.id
           ) as dimensions,
           (
             select coalesce(jsonb_agg(jsonb_build_object('label', body ->> 'label', 'attempts', attempts, 'dead', dead)
                      order by id), '[]')
             from pending_events
             where work_item_id = item.id
           ) as events
    from work_items item
    join errand_details detail on detail.work_item_id = item.id`.execute(db)
  return new Map(rows.map((row) => rowSchema.parse(row)).map((item) => [item.id, item]))
}
