/**
 * Puts concurrent calls together: while one group is on its way, whoever comes waits and then goes as the next group. A
 * lone call starts at once, so nothing is slower for being groupable; under load the groups grow by themselves, and one
 * statement and one commit serve many. The answer comes when the group is done.
 *
 * A group that fails does not fail its members: each is then tried alone, so that one call cannot spoil another's.
 */
export interface GrouperOptions<In, Out> {
  /** Answers one value for each input, in their order. */
  readonly run: (inputs: readonly In[]) => Promise<readonly Out[]>
  /** Members of one group at most. */
  readonly maxSize: number
  /** What the members of one group may weigh together; one that weighs more goes alone. */
  readonly maxWeight?: number
  readonly weigh?: (input: In) => number
  /** Groups on their way at a time. */
  readonly concurrency?: number
  /** Inputs that fail for this reason would fail alone as well: the whole group is refused. Default: none. */
  readonly isShared?: (error: unknown) => boolean
}

export interface Grouper<In, Out> {
  run(input: In): Promise<Out>
}

interface Member<In, Out> {
  readonly input: In
  readonly resolve: (value: Out) => void
  readonly reject: (error: unknown) => void
}

export function createGrouper<In, Out>({
  run,
  maxSize,
  maxWeight = Number.POSITIVE_INFINITY,
  weigh = () => 1,
  concurrency = 1,
  isShared = () => false,
}: GrouperOptions<In, Out>): Grouper<In, Out> {
  let waiting: Member<In, Out>[] = []
  let onTheirWay = 0
  let scheduled = false

  /** After everything that is due in this turn of the event loop, so that calls of one turn share a group. */
  function schedule(): void {
    if (scheduled || onTheirWay >= concurrency || waiting.length === 0) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      const size = sizeOfNext()
      const group = waiting.slice(0, size)
      waiting = waiting.slice(size)
      onTheirWay += 1
      void send(group).finally(() => {
        onTheirWay -= 1
        schedule()
      })
      schedule()
    })
  }

  function sizeOfNext(): number {
    let weight = 0
    const tooMuch = waiting.findIndex(({ input }, index) => {
      weight += weigh(input)
      return index >= maxSize || (index > 0 && weight > maxWeight)
    })
    return tooMuch === -1 ? waiting.length : tooMuch
  }

  async function send(group: readonly Member<In, Out>[]): Promise<void> {
    try {
      const results = await run(group.map(({ input }) => input))
      if (results.length !== group.length) throw new Error(`${group.length} inputs had ${results.length} answers`)
      group.forEach(({ resolve }, index) => {
        resolve(results[index] as Out)
      })
    } catch (error) {
      if (group.length === 1 || isShared(error)) for (const { reject } of group) reject(error)
      else for (const member of group) await send([member])
    }
  }

  return {
    run(input) {
      const { promise, resolve, reject } = Promise.withResolvers<Out>()
      waiting.push({ input, resolve, reject })
      schedule()
      return promise
    },
  }
}
