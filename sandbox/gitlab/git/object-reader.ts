/**
 * Reads a repository's objects through one long-lived `git cat-file --batch-command`: starting a process for each look at
 * a reference or a tree costs far more than the look itself. The process is started at need and ends when it was idle for
 * a while. References and new objects are seen at once, git looks at the disk for each question.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { GitError, gitEnvironment } from './process.ts'

const IDLE_MS = 10_000
const ANSWER_MS = 60_000

export interface GitObject {
  readonly sha: string
  readonly type: 'blob' | 'tree' | 'commit' | 'tag'
  readonly content: Buffer
}

export interface ObjectReader {
  /** The object that git understands by `name`; null for none. */
  read(name: string): Promise<GitObject | null>
  /** The same without content. */
  info(name: string): Promise<Omit<GitObject, 'content'> | null>
  close(): Promise<void>
}

interface Question {
  readonly withContent: boolean
  resolve(answer: GitObject | null): void
  reject(error: Error): void
}

/** One process and the questions it has not answered yet, oldest first. */
interface Conversation {
  readonly child: ChildProcessWithoutNullStreams
  readonly questions: Question[]
  readonly closed: Promise<void>
}

/** Calls `answer` for each complete answer in the stream. */
function readAnswers(conversation: Conversation, onEmpty: () => void): void {
  const { child, questions } = conversation
  let chunks: Buffer[] = []
  let size = 0
  /** How many bytes the answer being received has, once its head was read. */
  let wanted = 0
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (size < wanted) return
    let buffer = chunks.length === 1 ? chunk : Buffer.concat(chunks)
    wanted = 0
    for (let question = questions[0]; question; question = questions[0]) {
      const end = buffer.indexOf(10)
      if (end < 0) break
      const head = /^([0-9a-f]{40}) (blob|tree|commit|tag) (\d+)$/.exec(buffer.toString('utf8', 0, end))
      const length = head && question.withContent ? Number(head[3]) + 1 : 0
      if (buffer.length < end + 1 + length) {
        wanted = end + 1 + length
        break
      }
      questions.shift()
      const content = Buffer.from(buffer.subarray(end + 1, end + Math.max(1, length)))
      question.resolve(head && { sha: head[1] ?? '', type: head[2] as GitObject['type'], content })
      buffer = buffer.subarray(end + 1 + length)
    }
    chunks = buffer.length > 0 ? [buffer] : []
    size = buffer.length
    if (questions.length === 0) onEmpty()
  })
}

function converse(directory: string, onEmpty: () => void): Conversation {
  const child = spawn('git', ['--git-dir', directory, 'cat-file', '--batch-command', '-z'], {
    env: gitEnvironment(),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const questions: Question[] = []
  const fail = (error: Error) => {
    for (const question of questions.splice(0)) question.reject(error)
  }
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8')
  })
  child.stdin.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      fail(error)
      resolve()
    })
    child.on('close', (code) => {
      fail(new GitError(['cat-file'], code, stderr))
      resolve()
    })
  })
  const conversation = { child, questions, closed }
  readAnswers(conversation, onEmpty)
  return conversation
}

export function openObjectReader(directory: string): ObjectReader {
  let current: Conversation | null = null
  let idle: NodeJS.Timeout | undefined

  function end(): void {
    current?.child.stdin.end()
    current = null
  }

  async function ask(command: 'contents' | 'info', name: string): Promise<GitObject | null> {
    // A line end would be read as the end of an answer's head; no reference has one.
    if (name === '' || /[\n\0]/.test(name)) return null
    clearTimeout(idle)
    if (current === null || current.child.exitCode !== null || !current.child.stdin.writable) {
      const conversation = converse(directory, () => {
        clearTimeout(idle)
        idle = setTimeout(end, IDLE_MS).unref()
      })
      current = conversation
    }
    const { child, questions } = current
    const limit = setTimeout(() => child.kill('SIGKILL'), ANSWER_MS)
    try {
      return await new Promise<GitObject | null>((resolve, reject) => {
        questions.push({ withContent: command === 'contents', resolve, reject })
        child.stdin.write(`${command} ${name}\0`)
      })
    } finally {
      clearTimeout(limit)
    }
  }

  return {
    read: (name) => ask('contents', name),
    info: (name) => ask('info', name),
    async close() {
      clearTimeout(idle)
      const closed = current?.closed
      end()
      await closed
    },
  }
}
