/** What callers may rely on: submit, retry and cancel, over real PostgreSQL and an item type that is not `mr`. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createErrandQueues, type ErrandQueues, errand } from '../../test/support/errand-queues.ts'
import { createErrandType, finishErrand, runAndWait } from '../../test/support/errand-type.ts'
import { createGate } from '../../test/support/gate.ts'

let errands: ErrandQueues
beforeAll(async () => {
  errands = await createErrandQueues()
})
afterEach(() => errands.reset())
afterAll(() => errands.drop())

describe('a submission', () => {
  test('is worked on at once and ends with its resolution', async () => {
    const { queue, audit } = errands.start(createErrandType().type)
    const { outcome, item } = await queue.submit('errand', errand(), 'ann')
    await audit.waitForPhase(item.id, 'completed')

    expect(outcome).toBe('created')
    const { snapshot } = await queue.get(item.id)
    expect(snapshot.item).toMatchObject({ phase: 'completed', resolution: 'done', generation: 1, leasedUntil: null })
    expect(snapshot.detail).toMatchObject({ doneText: 'buy milk' })
  })

  test('of the same content is unchanged, of other content updates the same item, which runs again', async () => {
    const { queue, audit } = errands.start(createErrandType({ run: runAndWait }).type)
    const first = await queue.submit('errand', errand('one', 'same'), 'ann')
    await audit.waitFor(({ action, outcome }) => action === 'run' && outcome === 'succeeded', 'the first run')
    const again = await queue.submit('errand', errand('one', 'same'), 'ann')
    const changed = await queue.submit('errand', errand('two', 'same'), 'ann')
    await audit.waitFor(() => audit.entries.filter(({ action }) => action === 'run').length === 2, 'the second run')

    expect([again.outcome, changed.outcome]).toEqual(['unchanged', 'updated'])
    expect([again.item.id, changed.item.id]).toEqual([first.item.id, first.item.id])
    expect((await queue.get(first.item.id)).snapshot.detail).toMatchObject({ doneText: 'two' })
  })

  test('after the end of an item begins its next generation', async () => {
    const { queue, audit } = errands.start(createErrandType().type)
    const first = await queue.submit('errand', errand('one', 'again'), 'ann')
    await audit.waitForPhase(first.item.id, 'completed')
    const second = await queue.submit('errand', errand('one', 'again'), 'ann')

    expect(second.outcome).toBe('created')
    expect(second.item.idempotencyKey).toBe('errand:again:2')
  })

  test('of somebody else changes nothing, unless it may overwrite; then the item is theirs', async () => {
    const { queue } = errands.prepare(createErrandType().type)
    const { item } = await queue.submit('errand', errand('one', 'owned'), 'ann')
    const mayOverwrite = { require: () => {}, holds: (permission: string) => permission === 'overwrite' }

    expect((await queue.submit('errand', errand('one', 'owned'), 'bob')).outcome).toBe('unchanged')
    const other = errand('two', 'owned')
    const refused = {
      code: 'owned_by_another_caller',
      message: expect.stringContaining(`${item.id}, which is not over, is of ann`),
    }
    await expect(queue.submit('errand', other, 'bob')).rejects.toMatchObject(refused)
    const options = { signal: AbortSignal.timeout(10_000) }
    await expect(queue.inspect('errand', other, 'bob', options)).rejects.toMatchObject(refused)
    expect((await queue.get(item.id)).snapshot).toMatchObject({
      item: { callerIdentity: 'ann' },
      detail: { text: 'one' },
    })

    const { outcome, item: taken } = await queue.submit('errand', other, 'bob', mayOverwrite)
    expect([outcome, taken.id, taken.callerIdentity]).toEqual(['updated', item.id, 'bob'])
  })

  test('asks for the right to submit once it is known what it is about', async () => {
    const { queue } = errands.prepare(createErrandType().type)
    const asked: unknown[] = []
    const rights = {
      require(permission: string, scope: object) {
        asked.push([permission, scope])
        throw new Error('no')
      },
      holds: () => false,
    }
    await expect(queue.submit('errand', errand('one', 'shop/milk'), 'ann', rights)).rejects.toThrow('no')
    const options = { signal: AbortSignal.timeout(10_000), rights }
    await expect(queue.inspect('errand', errand('one', 'shop/milk'), 'ann', options)).rejects.toThrow('no')
    expect(asked).toEqual(Array(2).fill(['submit', { project: 'shop', branch: 'milk' }]))
    expect((await queue.list({ limit: 10 })).items).toEqual([])
  })

  test('sent fifty times at once makes one item', async () => {
    const { queue } = errands.prepare(createErrandType().type)
    const fifty = Array.from({ length: 50 }, () => queue.submit('errand', errand('one', 'crowd'), 'ann'))
    const results = await Promise.all(fifty)

    expect(new Set(results.map(({ item }) => item.id)).size).toBe(1)
    expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
  })

  test('that is refused tells every finding and leaves nothing behind', async () => {
    const { queue } = errands.start(createErrandType().type)
    await expect(queue.submit('errand', errand('forbidden'), 'ann')).rejects.toMatchObject({
      code: 'submission_rejected',
      findings: [{ code: 'forbidden_text', path: '/text' }],
    })
    await expect(queue.submit('errand', { item_type: 'errand', text: 7, extra: 1 }, 'ann')).rejects.toMatchObject({
      findings: [{ path: '/name' }, { path: '/text' }, { code: 'unknown_field', path: '/extra' }],
    })
    expect((await queue.list({ limit: 10 })).items).toEqual([])
  })

  test('that arrives while an action runs is not lost: the item stays alive and runs with the new content', async () => {
    const gate = createGate()
    const { type, behaviour } = createErrandType({
      run: async (draft, context) => {
        await gate.pass()
        return finishErrand(draft, context)
      },
    })
    const { queue, audit } = errands.start(type)
    const { item } = await queue.submit('errand', errand('old', 'race'), 'ann')
    await gate.arrived
    behaviour.run = finishErrand
    const update = await queue.submit('errand', errand('new', 'race'), 'ann')
    gate.open()
    await audit.waitForPhase(item.id, 'completed')

    expect(update.outcome).toBe('updated')
    const { snapshot } = await queue.get(item.id)
    expect(snapshot.detail).toMatchObject({ text: 'new', doneText: 'new' })
    expect(audit.entries.filter(({ action }) => action === 'run')).toHaveLength(2)
  })

  test('of a type that is not handled here is refused by name', async () => {
    const { queue } = errands.prepare(createErrandType().type)
    await expect(queue.submit('cve', {}, 'ann')).rejects.toMatchObject({ code: 'item_type_not_handled' })
  })
})

describe('retry and cancel', () => {
  test('cancel ends an active item through its own action', async () => {
    const { queue, audit } = errands.start(createErrandType({ run: runAndWait }).type)
    const { item } = await queue.submit('errand', errand(), 'ann')
    await queue.cancel(item.id, 'ann')
    expect(await audit.waitForPhase(item.id, 'cancelled')).toMatchObject({ resolution: 'cancelled_by_caller' })

    await expect(queue.cancel(item.id, 'ann')).rejects.toMatchObject({ code: 'not_cancellable' })
  })

  test('a submission that arrives before the cancellation has run calls it off', async () => {
    const prepared = errands.prepare(createErrandType().type)
    const { item } = await prepared.queue.submit('errand', errand('one', 'mind'), 'ann')
    await prepared.queue.cancel(item.id, 'ann')
    expect((await prepared.queue.submit('errand', errand('one', 'mind'), 'ann')).outcome).toBe('updated')

    const { audit } = errands.start(createErrandType().type)
    await audit.waitForPhase(item.id, 'completed')
  })

  test('retry revives a cancelled item, unless a newer one is at work on the same thing', async () => {
    const { queue, audit } = errands.start(createErrandType({ run: runAndWait }).type)
    const first = await queue.submit('errand', errand('one', 'revive'), 'ann')
    await queue.cancel(first.item.id, 'ann')
    await audit.waitForPhase(first.item.id, 'cancelled')
    const second = await queue.submit('errand', errand('one', 'revive'), 'ann')

    await expect(queue.retry(first.item.id, 'ann')).rejects.toMatchObject({ code: 'superseded' })
    await queue.cancel(second.item.id, 'ann')
    await audit.waitForPhase(second.item.id, 'cancelled')
    expect(await queue.retry(first.item.id, 'ann')).toMatchObject({ phase: 'active', resolution: null })
  })

  test('neither touches a completed item', async () => {
    const { queue, audit } = errands.start(createErrandType().type)
    const { item } = await queue.submit('errand', errand(), 'ann')
    await audit.waitForPhase(item.id, 'completed')

    await expect(queue.retry(item.id, 'ann')).rejects.toMatchObject({ code: 'not_retryable' })
    await expect(queue.cancel(item.id, 'ann')).rejects.toMatchObject({ code: 'not_cancellable' })
  })
})

describe('the list', () => {
  test('pages newest first with a cursor and finds by phase, caller and text', async () => {
    const { queue, audit } = errands.start(createErrandType().type)
    const made = []
    for (const name of ['a', 'b', 'c%', 'd']) made.push((await queue.submit('errand', errand('x', name), 'ann')).item)
    await queue.submit('errand', errand('x', 'e'), 'bob')
    await Promise.all(made.map(({ id }) => audit.waitForPhase(id, 'completed')))

    const first = await queue.list({ limit: 3 })
    const second = await queue.list({ limit: 3, before: first.next ?? '' })
    const summaries = [...first.items, ...second.items].map(({ presentation }) => presentation.summary)
    expect(summaries).toEqual(['e', 'd', 'c%', 'b', 'a'])
    expect(second.next).toBeNull()
    expect((await queue.list({ limit: 10, callerIdentity: 'bob' })).items).toHaveLength(1)
    expect((await queue.list({ limit: 10, search: '%' })).items).toHaveLength(1)
    expect((await queue.list({ limit: 10, phase: 'failed' })).items).toEqual([])
    expect((await queue.list({ limit: 10, itemTypes: ['other'] })).items).toEqual([])
  })

  test('show a caller who may see few of many items those few, page by page', async () => {
    const { queue } = errands.prepare(createErrandType().type)
    const places = ['shop/1', 'park/1', 'shop/2', 'park/2', 'shop/3', 'nowhere']
    for (const place of places) await queue.submit('errand', errand('go', place), 'ann')
    const isVisible = (_type: string, { project }: { readonly project?: string }) => project === 'shop'
    const keys = ({ items }: Awaited<ReturnType<typeof queue.list>>) => items.map(({ item }) => item.dedupKey)

    const first = await queue.list({ limit: 2, isVisible })
    const second = await queue.list({ limit: 2, isVisible, before: first.next ?? '' })
    expect([keys(first), keys(second), second.next]).toEqual([
      ['errand:shop/3', 'errand:shop/2'],
      ['errand:shop/1'],
      null,
    ])
  })
})
