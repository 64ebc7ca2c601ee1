/** Debian's PgBouncer in transaction mode before a PostgreSQL; null where it is not installed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chown, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

const PROGRAM = '/usr/sbin/pgbouncer'
/** Who else than nobody: it refuses to run as root, and its file holds a password. */
const NOBODY = 65_534

export interface PgBouncer {
  readonly url: string
  stop(): Promise<void>
}

export async function startPgBouncer(postgresUrl: string, directory: string): Promise<PgBouncer | null> {
  if (
    !(await access(PROGRAM).then(
      () => true,
      () => false,
    ))
  )
    return null
  const { hostname, port, username, password, pathname } = new URL(postgresUrl)
  const listenPort = await freePort()
  const database = pathname.slice(1)
  const server = `host=${hostname} port=${port} dbname=${database} user=${username} password=${password}`
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: listenPort,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: 20,
    max_client_conn: 200,
  }
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`)
  const home = join(directory, `pgbouncer-${listenPort}`)
  const file = join(home, 'pgbouncer.ini')
  await mkdir(home, { mode: 0o700 })
  await writeFile(file, ['[databases]', `${database} = ${server}`, '[pgbouncer]', ...lines, ''].join('\n'))
  const root = process.getuid?.() === 0
  if (root) for (const path of [file, home]) await chown(path, NOBODY, NOBODY)
  const user = root ? { uid: NOBODY, gid: NOBODY } : {}
  const child = spawn(PROGRAM, ['--quiet', 'pgbouncer.ini'], { ...user, cwd: home, stdio: 'ignore' })
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const url = `postgres://${username}:unused@127.0.0.1:${listenPort}/${database}`
  await waitUntilReady(url).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return { url, stop }
}

async function waitUntilReady(url: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
    try {
      await client.connect()
      return
    } catch (error) {
      if (attempt === 100) throw error
      await delay(50)
    } finally {
      await client.end().catch(() => {})
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  await new Promise((done) => probe.close(done))
  if (address === null || typeof address === 'string') throw new Error('no free port was found')
  return address.port
}
