/**
 * A few threads for work that would hold the event loop, with a time for each piece of it. A thread that takes too long or dies is
 * replaced, and its piece of work gets no answer: what that means is the caller's to say. Threads start when there is
 * something to do and keep the process alive only as long as somebody waits for an answer.
 */
import { availableParallelism } from 'node:os'
import { parentPort, type Transferable, Worker } from 'node:worker_threads'
import { WorkQueueError } from './errors.ts'

export type ThreadAnswer<Answer> =
  | { readonly outcome: 'answered'; readonly answer: Answer; readonly tookMs: number }
  | { readonly outcome: 'timed_out' }
  | { readonly outcome: 'crashed'; readonly cause: unknown }

export interface ThreadPool<Question, Answer> {
  /**
   * The time counts from when a thread takes it up. Refused with `busy` when too many wait already. What `transfer` lists is
   * given away instead of copied.
   */
  run(
    question: Question,
    options: { readonly timeoutMs: number; readonly transfer?: readonly Transferable[] },
  ): Promise<ThreadAnswer<Answer>>
  /** Stops the threads; work in hand counts as crashed. They start again when there is more. */
  close(): Promise<void>
}

export interface ThreadPoolOptions {
  /** The most threads there are at a time; never more than leave a core to the rest of the process. */
  readonly maxThreads: number
  /** The most that may wait for a thread. */
  readonly maxWaiting: number
  readonly maxHeapMiB: number
}

interface Job<Question, Answer> {
  readonly question: Question
  readonly timeoutMs: number
  readonly transfer: readonly Transferable[]
  readonly settle: (answer: ThreadAnswer<Answer>) => void
}

interface Thread<Question, Answer> {
  readonly worker: Worker
  state: 'starting' | 'idle' | 'busy'
  job: Job<Question, Answer> | null
  startedAt: number
  timer: NodeJS.Timeout | undefined
}

const READY = 'ready'

/** `entry` is a file that calls `answerQuestions`. */
export function createThreadPool<Question, Answer>(
  entry: URL,
  { maxThreads, maxWaiting, maxHeapMiB }: ThreadPoolOptions,
): ThreadPool<Question, Answer> {
  type OwnThread = Thread<Question, Answer>
  const size = Math.max(1, Math.min(maxThreads, availableParallelism() - 1))
  const threads = new Set<OwnThread>()
  const waiting: Job<Question, Answer>[] = []

  function assign(): void {
    for (const thread of threads) {
      if (thread.state !== 'idle') continue
      const job = waiting.shift()
      if (job === undefined) return
      begin(thread, job)
    }
    const starting = [...threads].filter(({ state }) => state === 'starting').length
    if (waiting.length > starting && threads.size < size) start()
  }

  function start(): void {
    // Nothing of the process's environment, and none of its flags, is a thread's business.
    const worker = new Worker(entry, { env: {}, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB } })
    const thread: OwnThread = { worker, state: 'starting', job: null, startedAt: 0, timer: undefined }
    threads.add(thread)
    worker.on('message', (message: typeof READY | { readonly answer: Answer }) => {
      if (message !== READY) {
        end(thread, { outcome: 'answered', answer: message.answer, tookMs: performance.now() - thread.startedAt })
      }
      thread.state = 'idle'
      worker.unref()
      assign()
    })
    worker.on('error', (cause) => lose(thread, { outcome: 'crashed', cause }))
    worker.on('exit', (status) =>
      lose(thread, { outcome: 'crashed', cause: new Error(`the thread ended (${status})`) }),
    )
  }

  function begin(thread: OwnThread, job: Job<Question, Answer>): void {
    thread.state = 'busy'
    thread.job = job
    thread.startedAt = performance.now()
    thread.worker.ref()
    const giveUp = () => {
      if (thread.job !== job) return
      lose(thread, { outcome: 'timed_out' })
      void thread.worker.terminate()
    }
    // An answer that came while the event loop was held by something else is read first.
    thread.timer = setTimeout(() => setImmediate(giveUp), job.timeoutMs)
    thread.worker.postMessage(job.question, job.transfer)
  }

  function end(thread: OwnThread, answer: ThreadAnswer<Answer>): void {
    clearTimeout(thread.timer)
    thread.job?.settle(answer)
    thread.job = null
  }

  /** One that cannot even start takes a waiting job with it, or it would be started for ever. */
  function lose(thread: OwnThread, answer: ThreadAnswer<Answer>): void {
    if (!threads.delete(thread)) return
    if (thread.state === 'starting') waiting.shift()?.settle(answer)
    end(thread, answer)
    assign()
  }

  return {
    run(question, { timeoutMs, transfer = [] }) {
      if (waiting.length >= maxWaiting) {
        const wait = { failure: 'transient', retryAfterMs: 1_000 } as const
        throw new WorkQueueError('busy', 'Too much work waits for a thread already. Send it again.', wait)
      }
      return new Promise((settle) => {
        waiting.push({ question, timeoutMs, transfer, settle })
        assign()
      })
    },
    async close() {
      const stopped = [...threads]
      const answer = { outcome: 'crashed', cause: new Error('the threads were stopped') } as const
      for (const { settle } of waiting.splice(0)) settle(answer)
      for (const thread of stopped) lose(thread, answer)
      await Promise.all(stopped.map(({ worker }) => worker.terminate()))
    },
  }
}

/** The thread's side: answers each question in turn. A throw ends the thread. */
export function answerQuestions<Question, Answer>(answer: (question: Question) => Answer): void {
  const port = parentPort
  if (port === null) throw new Error('this file runs in a thread of its own')
  port.on('message', (question: Question) => port.postMessage({ answer: answer(question) }))
  port.postMessage(READY)
}
