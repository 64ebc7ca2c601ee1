/** The queue's slice of the configuration. */
import { z } from 'zod'
import { durationSchema } from '../lib/duration.ts'

export const queueConfigSchema = z.strictObject({
  /** Items worked on at a time by one process (decision 0041). */
  workers: z.int().min(1).max(100).default(10),
  /** Of these, items of one project (or whatever else the type limits by) at most (decision 0063). */
  concurrency_per_key: z.int().min(1).max(100).default(5),
  /** Open items of one caller at most, over all processes; null = no limit (decision 0086). */
  open_items_per_caller: z.int().min(1).max(1_000_000).nullable().default(1_000),
  /** The same for items of one project (or whatever else the type limits by). */
  open_items_per_key: z.int().min(1).max(1_000_000).nullable().default(5_000),
  /** How long a claim holds without a heartbeat; a crashed process is noticed after this long. */
  lease: durationSchema.prefault('30s'),
  /** How often the safety net looks for due items that nobody was woken for. */
  sweep_interval: durationSchema.prefault('1s'),
  /** How long one item may hold a worker before it goes to the back (decision 0044). */
  item_deadline: durationSchema.prefault('60s'),
  /** How long one action may take; then it is interrupted, and counts as failed whether it notices or not. */
  action_timeout: durationSchema.prefault('10m'),
  /** Failures in a row before an item is given up. */
  max_attempts: z.int().min(1).max(100).default(5),
  /** How long an outage of the outside world may last before an item is given up. */
  transient_budget: durationSchema.prefault('24h'),
  /** First wait after a failure; doubles with each further one. */
  backoff_base: durationSchema.prefault('1s'),
  backoff_max: durationSchema.prefault('5m'),
  /** How long items are kept after their end. */
  retention: durationSchema.prefault('90d'),
  /** How long a stopping process lets running actions finish. */
  shutdown_grace: durationSchema.prefault('25s'),
})

export type QueueConfig = z.infer<typeof queueConfigSchema>
