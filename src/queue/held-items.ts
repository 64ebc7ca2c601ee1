import type { WorkItem } from './work-item.ts'

/** The items this process holds a lease on, and places kept for items that are about to be born claimed; counted by key. */
export interface HeldItems {
  /** Items and kept places. */
  readonly size: number
  add(item: WorkItem): void
  idsOf(concerns: (item: WorkItem) => boolean): ReadonlySet<string>
  /** Answers whether it was marked to be looked at again. */
  remove(workItemId: string): boolean
  /** The item may be due once more when it is let go. False: it is not held. */
  markAgain(workItemId: string): boolean
  keepPlace(concurrencyKey: string | null): void
  givePlaceBack(concurrencyKey: string | null): void
  /** Is there no room for one more of this key? */
  isFull(concurrencyKey: string | null): boolean
  /** How many more of each key there is room for; keys of which nothing is held are missing. */
  freeByKey(): ReadonlyMap<string, number>
  /** False: something was still held when the time was over. */
  emptyWithin(milliseconds: number): Promise<boolean>
}

export function createHeldItems(perKey: number): HeldItems {
  const items = new Map<string, { readonly item: WorkItem; again: boolean }>()
  const byKey = new Map<string, number>()
  let places = 0
  let onEmpty: (() => void) | null = null

  function count(key: string | null, change: 1 | -1): void {
    if (key === null) return
    const held = (byKey.get(key) ?? 0) + change
    if (held === 0) byKey.delete(key)
    else byKey.set(key, held)
  }

  return {
    get size() {
      return items.size + places
    },
    add(item) {
      items.set(item.id, { item, again: false })
      count(item.concurrencyKey, 1)
    },
    idsOf: (concerns) => new Set([...items.values()].filter(({ item }) => concerns(item)).map(({ item }) => item.id)),
    remove(id) {
      const held = items.get(id)
      if (held === undefined) return false
      items.delete(id)
      count(held.item.concurrencyKey, -1)
      if (items.size === 0) onEmpty?.()
      return held.again
    },
    markAgain(id) {
      const held = items.get(id)
      if (held !== undefined) held.again = true
      return held !== undefined
    },
    keepPlace(key) {
      places += 1
      count(key, 1)
    },
    givePlaceBack(key) {
      places -= 1
      count(key, -1)
    },
    isFull: (key) => key !== null && (byKey.get(key) ?? 0) >= perKey,
    freeByKey: () => new Map([...byKey].map(([key, held]) => [key, Math.max(0, perKey - held)])),
    emptyWithin(milliseconds) {
      if (items.size === 0) return Promise.resolve(true)
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const timer = setTimeout(resolve, milliseconds, false)
      onEmpty = () => {
        clearTimeout(timer)
        resolve(true)
      }
      return promise
    },
  }
}
