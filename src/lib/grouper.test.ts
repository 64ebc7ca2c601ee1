import { describe, expect, test } from 'vitest'
import { createGrouper } from './grouper.ts'

/** A grouper over a runner that the test lets go group by group. */
function gated(maxSize = 10) {
  const groups: { readonly inputs: readonly number[]; readonly go: (error?: Error) => void }[] = []
  const arrivals: (() => void)[] = []
  const grouper = createGrouper<number, number>({
    maxSize,
    run: async (inputs) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      groups.push({ inputs, go: (error) => (error === undefined ? resolve() : reject(error)) })
      arrivals.shift()?.()
      await promise
      return inputs.map((input) => input * 10)
    },
  })
  const nextGroup = () => new Promise<void>((resolve) => void arrivals.push(resolve))
  return { grouper, groups, nextGroup }
}

describe('a grouper', () => {
  test('sends a lone call at once and lets those that come meanwhile go together', async () => {
    const { grouper, groups, nextGroup } = gated()
    const first = nextGroup()
    const one = grouper.run(1)
    await first
    const rest = [grouper.run(2), grouper.run(3)]
    const second = nextGroup()
    groups[0]?.go()
    expect(await one).toBe(10)
    await second
    groups[1]?.go()
    expect(await Promise.all(rest)).toEqual([20, 30])
    expect(groups.map(({ inputs }) => inputs)).toEqual([[1], [2, 3]])
  })

  test('splits what is more than a group may hold', async () => {
    const sizes: number[] = []
    const grouper = createGrouper<number, number>({
      maxSize: 2,
      run: async (inputs) => {
        sizes.push(inputs.length)
        return inputs
      },
    })
    expect(await Promise.all([1, 2, 3, 4, 5].map((input) => grouper.run(input)))).toEqual([1, 2, 3, 4, 5])
    expect(sizes).toEqual([2, 2, 1])
  })

  test('lets a heavy member go alone', async () => {
    const groups: (readonly number[])[] = []
    const grouper = createGrouper<number, number>({
      maxSize: 10,
      maxWeight: 100,
      weigh: (input) => input,
      run: async (inputs) => {
        groups.push(inputs)
        return inputs
      },
    })
    await Promise.all([40, 60, 500, 1].map((input) => grouper.run(input)))
    expect(groups).toEqual([[40, 60], [500], [1]])
  })

  test('fails only the member that cannot be served', async () => {
    const grouper = createGrouper<number, number>({
      maxSize: 10,
      run: async (inputs) => {
        if (inputs.includes(13)) throw new Error('thirteen')
        return inputs
      },
    })
    const results = await Promise.allSettled([12, 13, 14].map((input) => grouper.run(input)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('fails all of them at once for a reason that they share', async () => {
    let calls = 0
    const grouper = createGrouper<number, number>({
      maxSize: 10,
      isShared: () => true,
      run: async () => {
        calls += 1
        throw new Error('no database')
      },
    })
    const results = await Promise.allSettled([1, 2, 3].map((input) => grouper.run(input)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(calls).toBe(1)
  })
})
