/**
 * One call of the git binary. Nothing of the machine reaches it: no system or user configuration, no prompts, no hooks of
 * templates, a fixed locale, and a time limit. Input and output are bytes.
 */
import { spawn } from 'node:child_process'

const TIMEOUT_MS = 60_000

export interface GitOptions {
  readonly input?: Buffer | string
  /** Additional environment, such as GIT_INDEX_FILE or the author of a commit. */
  readonly env?: Readonly<Record<string, string>>
  /** Exit codes that are an answer rather than an error. */
  readonly allow?: readonly number[]
}

export interface GitResult {
  readonly code: number
  readonly stdout: Buffer
}

export class GitError extends Error {
  readonly code: number | null
  readonly stderr: string

  constructor(args: readonly string[], code: number | null, stderr: string) {
    super(`git ${args[0] ?? ''} ended with ${code ?? 'a signal'}: ${stderr.trim()}`)
    this.name = 'GitError'
    this.code = code
    this.stderr = stderr
  }
}

/** The environment of every git process of the sandbox. */
export function gitEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: '/nonexistent',
    XDG_CONFIG_HOME: '/nonexistent',
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LITERAL_PATHSPECS: '1',
    ...extra,
  }
}

/** Runs git in the bare repository `directory`. Throws GitError for an exit code that is not 0 or allowed. */
export function runGit(directory: string, args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['--git-dir', directory, ...args], {
      env: gitEnvironment(options.env),
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    })
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk))
    child.on('error', reject)
    // git may end before it has read all its input; its exit code tells what happened.
    child.stdin.on('error', () => {})
    child.on('close', (code) => {
      if (code !== null && (code === 0 || options.allow?.includes(code))) {
        resolve({ code, stdout: Buffer.concat(stdout) })
      } else {
        reject(new GitError(args, code, Buffer.concat(stderr).toString('utf8')))
      }
    })
    child.stdin.end(options.input ?? '')
  })
}
