import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { createThreadPool, type ThreadPool } from './thread-pool.ts'

type Question = 'echo' | 'loop' | 'throw' | 'exit' | 'env'
type Pool = ThreadPool<Question, string>

const POOL = new URL('./thread-pool.ts', import.meta.url).href

/** A file of a thread, without a file. */
const entryOf = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`)
const ENTRY = entryOf(`
  import { answerQuestions } from '${POOL}'
  answerQuestions((question) => {
    if (question === 'loop') while (true);
    if (question === 'throw') throw new Error('broken')
    if (question === 'exit') process.exit(3)
    if (question === 'env') return JSON.stringify(process.env)
    return question
  })`)

let pool: Pool
afterEach(() => pool.close())

function open(given: Partial<Parameters<typeof createThreadPool>[1]> = {}, entry = ENTRY): Pool {
  pool = createThreadPool<Question, string>(entry, { maxThreads: 1, maxWaiting: 10, maxHeapMiB: 64, ...given })
  return pool
}

const ask = (question: Question, timeoutMs = 20_000) => pool.run(question, { timeoutMs })
const ECHO = { outcome: 'answered', answer: 'echo' }

describe('a thread pool', () => {
  test('answers every question, whatever their number', async () => {
    open({ maxThreads: 4, maxWaiting: 100 })
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask('echo')))
    for (const answer of answers) expect(answer).toMatchObject(ECHO)
  })

  test('gives up on what takes too long, and answers those that waited behind it', async () => {
    open()
    const [late, next] = await Promise.all([ask('loop', 50), ask('echo')])
    expect(late).toEqual({ outcome: 'timed_out' })
    expect(next).toMatchObject(ECHO)
  })

  test.each<[Question, RegExp]>([
    ['throw', /broken/],
    ['exit', /ended \(3\)/],
  ])('survives a thread that dies: %s', async (question, cause) => {
    open()
    const [dead, next] = await Promise.all([ask(question), ask('echo')])
    expect(dead).toMatchObject({
      outcome: 'crashed',
      cause: expect.objectContaining({ message: expect.stringMatching(cause) }),
    })
    expect(next).toMatchObject(ECHO)
  })

  test('does not try for ever to start what cannot start', async () => {
    open({}, entryOf('throw new Error("no such thing")'))
    expect(await Promise.all([ask('echo'), ask('echo')])).toMatchObject([
      { outcome: 'crashed' },
      { outcome: 'crashed' },
    ])
  })

  test('refuses when too many wait', async () => {
    open({ maxWaiting: 1 })
    const first = ask('echo')
    expect(() => ask('echo')).toThrow(expect.objectContaining({ code: 'busy', failure: 'transient' }))
    expect(await first).toMatchObject(ECHO)
  })

  test('shows its threads nothing of the environment', async () => {
    open()
    expect(await ask('env')).toMatchObject({ answer: '{}' })
  })

  test('stops with what it has in hand, and starts again', async () => {
    open()
    const inHand = Promise.all([ask('loop'), ask('echo')])
    await pool.close()
    expect(await inHand).toMatchObject([{ outcome: 'crashed' }, { outcome: 'crashed' }])
    expect(await ask('echo')).toMatchObject(ECHO)
  })

  test('keeps a process alive until the answer is there, and no longer', async () => {
    open()
    const program = `
      import { createThreadPool } from '${POOL}'
      const pool = createThreadPool(new URL(${JSON.stringify(ENTRY.href)}), { maxThreads: 1, maxWaiting: 1, maxHeapMiB: 64 })
      pool.run('echo', { timeoutMs: 20_000 }).then(({ answer }) => console.log(answer))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
    expect(stdout).toBe('echo\n')
  })
})
