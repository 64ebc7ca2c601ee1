/**
 * How many open items one caller, and one key (of an mr: its project), may have, over all processes: what an agent in a loop
 * can fill the queue with is bounded. The database is asked at most once a second for each name, and this process counts its own
 * new items on top; so what other processes accept within that second may go over the limit. Decision 0086.
 */
import { LRUCache } from 'lru-cache'
import type { Database } from '../db/database.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { QueueConfig } from './config.ts'
import { countOpenItems, type OpenItemsColumn } from './sql/count-open-items.ts'

export interface OpenItems {
  /**
   * Keeps a place for one more item until `make` has ended. Without a place `make` gets the reason: it may still change what
   * exists.
   */
  within<Made>(
    owner: Owner,
    make: (excess: WorkQueueError | null) => Promise<Made>,
    isNew: (made: Made) => boolean,
  ): Promise<Made>
}

export interface Owner {
  readonly caller: string
  readonly concurrencyKey: string | null
}

export type OpenItemLimits = Pick<QueueConfig, 'open_items_per_caller' | 'open_items_per_key'>

/** What is known of one caller or key: `base + made + places` are its items, or soon will be. */
interface Holder {
  /** Places kept for items that may be on their way. */
  places: number
  /** Items made here, ever. */
  made: number
  /** What the database counted, less what had been made here when it was asked. */
  base: number
  countedAt: number
  counting: Promise<void> | null
}

const COUNT_HOLDS_MS = 1_000
/** Names that nobody asked about for longest are forgotten. */
const MOST_NAMES = 10_000
const RETRY_AFTER_MS = 30_000

/** `now`: milliseconds on a clock that only goes forward. */
export function createOpenItems(db: Database, limits: OpenItemLimits, now = () => performance.now()): OpenItems {
  const holders = new LRUCache<string, Holder>({ max: MOST_NAMES })

  async function find(column: OpenItemsColumn, name: string, limit: number): Promise<Holder> {
    const key = `${column}:${name}`
    const holder = holders.get(key) ?? {
      places: 0,
      made: 0,
      base: 0,
      countedAt: Number.NEGATIVE_INFINITY,
      counting: null,
    }
    holders.set(key, holder)
    if (now() - holder.countedAt > COUNT_HOLDS_MS) {
      holder.counting ??= count(holder, column, name, limit).finally(() => {
        holder.counting = null
      })
      await holder.counting
    }
    return holder
  }

  async function count(holder: Holder, column: OpenItemsColumn, name: string, limit: number): Promise<void> {
    const { made } = holder
    const askedAt = now()
    holder.base = (await countOpenItems(db, column, name, limit)) - made
    holder.countedAt = askedAt
  }

  return {
    async within({ caller, concurrencyKey }, make, isNew) {
      const { open_items_per_caller: perCaller, open_items_per_key: perKey } = limits
      const ofCaller = perCaller === null ? null : await find('caller_identity', caller, perCaller)
      const ofKey =
        perKey === null || concurrencyKey === null ? null : await find('concurrency_key', concurrencyKey, perKey)
      // From here to the keeping of the places nothing waits, so that no two take the last one.
      if (isFull(ofCaller, perCaller)) return make(tooMany(`You have ${perCaller} open work items`))
      if (isFull(ofKey, perKey)) return make(tooMany(`There are ${perKey} open work items for ${concurrencyKey}`))
      const kept = [ofCaller, ofKey].filter((holder) => holder !== null)
      for (const holder of kept) holder.places += 1
      let made = false
      try {
        const result = await make(null)
        made = isNew(result)
        return result
      } finally {
        for (const holder of kept) {
          holder.places -= 1
          if (made) holder.made += 1
        }
      }
    },
  }
}

function isFull(holder: Holder | null, limit: number | null): boolean {
  return holder !== null && limit !== null && holder.base + holder.made + holder.places >= limit
}

function tooMany(what: string): WorkQueueError {
  const message = `${what}, which is the most. Wait until some have ended, or cancel some; those that are open can still be changed.`
  return new WorkQueueError('too_many_open_items', message, { failure: 'transient', retryAfterMs: RETRY_AFTER_MS })
}
