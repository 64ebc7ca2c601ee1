/**
 * The command line as its users have it: a process, with what it prints.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

export const WQ = join(import.meta.dirname, '../../bin/wq')

export interface Run {
  /** Resolves when standard output holds the text. */
  sees(text: string): Promise<void>
  /** The same for standard error. */
  complains(text: string): Promise<void>
  readonly ended: Promise<{ readonly status: number | null; readonly out: string; readonly err: string }>
}

export interface RunOptions {
  readonly input?: string
  /** Besides PATH. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly command?: string
}

export function startWq(args: readonly string[], { input = '', env, cwd, command = WQ }: RunOptions): Run {
  const { PATH = '' } = process.env
  const child = spawn(command, args, { cwd, env: { PATH, ...env } })
  const out = gather(child.stdout)
  const err = gather(child.stderr)
  child.stdin.end(input)
  const ended = new Promise<{ status: number | null; out: string; err: string }>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, out: out.text(), err: err.text() }))
  })
  return { ended, sees: out.waitFor, complains: err.waitFor }
}

function gather(stream: Readable): { text(): string; waitFor(part: string): Promise<void> } {
  let text = ''
  const waiting = new Set<() => void>()
  stream.on('data', (chunk) => {
    text += chunk
    for (const look of waiting) look()
  })
  return {
    text: () => text,
    waitFor: (part) =>
      new Promise((resolve) => {
        const look = () => {
          if (!text.includes(part)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}
