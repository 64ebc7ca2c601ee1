/**
 * The git binary, run in the current directory without a shell. Only plumbing, whose output neither the user's
 * configuration nor the language changes; nothing here writes to the repository or asks anybody anything.
 */
import { spawn } from 'node:child_process'
import { WorkQueueError } from '../../lib/errors.ts'

/** A partial clone fetches what it lacks when it is read. */
const TIMEOUT_MS = 120_000

export interface GitOptions {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
  /** Exit codes that are an answer. */
  readonly allow?: readonly number[]
}

/** Its standard output. @throws WorkQueueError `git_unavailable`, `input_unreadable` with git's own words. */
export function git(args: readonly string[], { input = '', env = {}, allow = [] }: GitOptions = {}): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const child = spawn('git', args, {
    env: { ...process.env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  child.on('error', (cause) => {
    reject(new WorkQueueError('git_unavailable', `git cannot be run (${cause.message}); install it.`, { cause }))
  })
  // git may end before it has read all its input; its exit code tells what happened.
  child.stdin.on('error', () => {})
  child.on('close', (code, signal) => {
    if (code === 0 || (code !== null && allow.includes(code))) resolve(Buffer.concat(out))
    else reject(failed(args, signal, Buffer.concat(err).toString('utf8')))
  })
  child.stdin.end(input)
  return promise
}

/** The same for one line of text; '' when git answers nothing. */
export async function gitLine(args: readonly string[], options?: GitOptions): Promise<string> {
  return (await git(args, options)).toString('utf8').trimEnd()
}

function failed(args: readonly string[], signal: NodeJS.Signals | null, stderr: string): WorkQueueError {
  const why = signal === null ? stderr.trim().replace(/^fatal: /, '') : `no answer within ${TIMEOUT_MS / 1_000} s`
  return new WorkQueueError('input_unreadable', `git ${args[0] ?? ''} failed: ${why}`)
}

/** Splits what git wrote with -z; bytes, because names of files need not be text. */
export function splitNul(bytes: Buffer): readonly Buffer[] {
  const parts: Buffer[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(0, start)
    const stop = end === -1 ? bytes.length : end
    parts.push(bytes.subarray(start, stop))
    start = stop + 1
  }
  return parts
}
