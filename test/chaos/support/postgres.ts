/**
 * A PostgreSQL that a chaos script may kill: always the same port and data, so that whoever was connected finds it again.
 * The cluster is made by the embedded server; what runs afterwards is its binary, directly under this process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import { startEmbeddedPostgres } from '../../../src/db/embedded.ts'

export interface ChaosPostgres {
  readonly url: string
  /** Starts it again after `kill`; resolves once it answers. */
  start(): Promise<void>
  /** `immediate` is `pg_ctl -m immediate stop`; `crash` is kill -9 of the postmaster. Both lose what was not synced. */
  kill(how: 'immediate' | 'crash'): Promise<void>
  /** Rows of one statement over a connection of its own. */
  query(statement: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
  /** A session that stays until `end()`. */
  session(): Promise<pg.Client>
  remove(): Promise<void>
}

const START_TIMEOUT_MS = 60_000
const POLL_MS = 20

export async function startChaosPostgres(directory: string): Promise<ChaosPostgres> {
  const { url, dataDir, binDir } = await makeCluster(join(directory, 'postgres'))
  const { uid, gid } = await stat(dataDir)
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'jit=off']
  const args = ['-D', dataDir, '-p', new URL(url).port, ...settings.flatMap((setting) => ['-c', setting])]
  let server: ChildProcess | null = null

  function launch(): ChildProcess {
    const user = process.getuid?.() === 0 ? { uid, gid } : {}
    return spawn(join(binDir, 'postgres'), args, { ...user, cwd: dataDir, stdio: 'ignore', env: {} })
  }

  /** After a crash the old server's children may hold its memory for a moment; then the new one refuses, and tries again. */
  async function start(): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS
    for (;;) {
      if (server === null || server.exitCode !== null || server.signalCode !== null) server = launch()
      try {
        await query('select 1')
        return
      } catch (error) {
        if (performance.now() > deadline) throw error
        await delay(POLL_MS)
      }
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (server === null || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }

  async function session(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  async function query(statement: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = await session()
    try {
      return (await client.query(statement, [...values])).rows
    } finally {
      await client.end().catch(() => {})
    }
  }

  const endWithUs = () => void server?.kill('SIGQUIT')
  process.once('exit', endWithUs)
  await start()
  return {
    url,
    start,
    kill: (how) => end(how === 'immediate' ? 'SIGQUIT' : 'SIGKILL'),
    query,
    session,
    async remove() {
      await end('SIGQUIT')
      process.off('exit', endWithUs)
      for (const path of [dataDir, `${dataDir}.password`]) await rm(path, { recursive: true, force: true })
    },
  }
}

const clusterSchema = z.tuple([z.object({ setting: z.string() })])

/** The running server knows where its binaries are; as root that is not where the package manager put them. */
async function makeCluster(wanted: string): Promise<{ url: string; dataDir: string; binDir: string }> {
  const server = await startEmbeddedPostgres({ dataDir: wanted })
  try {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const { rows } = await client.query("select setting from pg_config where name = 'BINDIR'")
    await client.end()
    return { url: server.url, dataDir: server.dataDir, binDir: clusterSchema.parse(rows)[0].setting }
  } finally {
    await server.stop()
  }
}
