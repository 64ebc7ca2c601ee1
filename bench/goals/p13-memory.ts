/** P13: the memory of the service as an operator starts it, with nothing to do. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import type { ConfigInput } from '../../src/app/config.ts'
import { newToken } from '../../src/auth/token.ts'
import type { Bench, Goal } from '../support/bench.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAX_MIB = 150
const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 10_000

export const p13: Goal = {
  id: 'P13',
  async run(bench) {
    const figures: number[] = []
    for (let round = 0; round < bench.rounds; round += 1) figures.push(await memoryOfIdleService(bench))
    bench.report({ part: 'idle service', unit: 'MiB RSS', figures, target: { atMost: MAX_MIB } })
  },
}

async function memoryOfIdleService(bench: Bench): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-bench-'))
  const file = join(directory, 'config.yaml')
  await writeFile(file, stringify(configuration(bench.url)), { mode: 0o600 })
  const service = spawn(process.execPath, ['src/cli/main.ts', 'serve', '--config', file], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production' },
  })
  try {
    await untilUp(service)
    await delay(bench.quick ? 3_000 : 20_000)
    return await residentMiB(service.pid ?? 0)
  } finally {
    await end(service)
    await rm(directory, { recursive: true, force: true })
  }
}

/** Nothing listens where GitLab should be: an idle service does not ask it. */
function configuration(url: string): ConfigInput {
  return {
    handled_types: ['mr'],
    database: { url },
    server: { port: 0 },
    auth: { rules: [{ name: 'bench', token_sha256: newToken().sha256, permissions: ['read', 'submit'] }] },
    gitlab: { url: 'http://127.0.0.1:9', token: 'unused' },
    mr: { projects: [{ path: 'group/project' }] },
  }
}

async function untilUp(service: ChildProcess): Promise<void> {
  if (service.stdout === null) throw new Error('the service has no log')
  const signal = AbortSignal.timeout(START_TIMEOUT_MS)
  const lines = createInterface({ input: service.stdout, signal })
  for await (const line of lines) if (line.includes('the service is up')) break
  signal.throwIfAborted()
  if (service.exitCode !== null) throw new Error(`the service ended with ${service.exitCode}`)
  // What it logs from here on must go somewhere, or it would wait.
  service.stdout.resume()
}

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => null)
  const kibibytes =
    status?.match(/^VmRSS:\s+(\d+) kB$/m)?.[1] ?? (await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout
  return Number(kibibytes) / 1_024
}

const run = promisify(execFile)

async function end(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null) return
  const gone = once(service, 'exit')
  service.kill('SIGTERM')
  const timer = setTimeout(() => service.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await gone
  clearTimeout(timer)
}
