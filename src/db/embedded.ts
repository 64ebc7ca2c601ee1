/**
 * A real PostgreSQL 18 that comes with the npm packages, for local mode and the tests: used only where no DATABASE_URL
 * is given. It listens on a loopback port of its own choice and keeps its data in one directory.
 *
 * Two things are less obvious. It runs in a session of its own, so that Ctrl-C reaches this process alone and the service
 * can drain before the database goes. And a small shell waits beside it on a pipe that only this process holds: when the
 * process ends in whatever way, kill -9 included, the pipe closes and PostgreSQL is shut down, never left behind.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, chmod, chown, cp, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { messageOf, WorkQueueError } from '../lib/errors.ts'

const run = promisify(execFile)

export interface EmbeddedPostgres {
  /** Connection string of the `workqueue` database. */
  readonly url: string
  /** Where the data is: as root this may not be the directory that was asked for (see `rootHome`). */
  readonly dataDir: string
  stop(): Promise<void>
  /** Stops it and removes its data, for tests. */
  remove(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string
  /** Trades durability for speed; for tests, whose data nobody needs after a power cut. */
  readonly durable?: boolean
}

const DATABASE = 'workqueue'
const START_TIMEOUT_MS = 30_000
const POLL_MS = 25

/**
 * Starts PostgreSQL on `dataDir`, creating the cluster at the first start.
 * @throws WorkQueueError `embedded_postgres_unavailable` with what to do instead.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  try {
    return await start(options)
  } catch (error) {
    if (error instanceof WorkQueueError) throw error
    throw unavailable(`the embedded PostgreSQL did not start: ${messageOf(error)}`, error)
  }
}

async function start({ dataDir: wanted, durable = true }: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const home = await chooseHome(resolve(wanted))
  const passwordFile = `${home.dataDir}.password`
  await waitForFormerServer(home.dataDir)
  if (!(await exists(join(home.dataDir, 'PG_VERSION')))) await initialise(home, passwordFile)
  const password = (await readFile(passwordFile, 'utf8')).trim()
  const port = await freePort()
  const server = launch(home, port, durable)
  const base = `postgres://postgres:${password}@127.0.0.1:${port}`
  await waitUntilReady(server, `${base}/postgres`)
  await ensureDatabase(`${base}/postgres`)
  return {
    url: `${base}/${DATABASE}`,
    dataDir: home.dataDir,
    stop: () => stop(server),
    async remove() {
      await stop(server)
      for (const path of [home.dataDir, passwordFile]) await rm(path, { recursive: true, force: true })
    },
  }
}

interface Home {
  readonly dataDir: string
  readonly binDir: string
  /** PostgreSQL refuses to run as root; then it runs as this user. */
  readonly user: { readonly uid: number; readonly gid: number } | null
}

async function chooseHome(dataDir: string): Promise<Home> {
  const binDir = nativeDirectory()
  if (process.getuid?.() !== 0) return { dataDir, binDir: join(binDir, 'bin'), user: null }
  return rootHome(dataDir, binDir)
}

/**
 * As root the server runs as an unprivileged user, who must be able to reach its files. Where the checkout lies in a
 * directory that only root may enter (`/root`, a `mktemp -d`), binaries and data are kept under the system's temporary
 * directory instead, one place per data directory.
 */
async function rootHome(dataDir: string, nativeDir: string): Promise<Home> {
  const user = await unprivilegedUser()
  await mkdir(dirname(dataDir), { recursive: true })
  const reachable = (await reachableByOthers(nativeDir)) && (await reachableByOthers(dirname(dataDir)))
  if (reachable) return { dataDir, binDir: join(nativeDir, 'bin'), user }
  const shared = await shareBinaries(nativeDir)
  const movedDir = join(tmpdir(), `workqueue-service-data-${digest(dataDir)}`)
  return { dataDir: movedDir, binDir: join(shared, 'bin'), user }
}

/** One copy of each version, whichever checkout asks. Only one that root made is trusted: others may write there too. */
async function shareBinaries(nativeDir: string): Promise<string> {
  const manifest = await readFile(join(nativeDir, '..', 'package.json'), 'utf8')
  const shared = join(tmpdir(), `workqueue-service-postgres-${digest(manifest)}`)
  if (!(await exists(shared))) {
    const staging = `${shared}.${randomBytes(4).toString('hex')}`
    await cp(nativeDir, staging, { recursive: true, verbatimSymlinks: true })
    // The copy keeps modes, and the checkout's may be closed to others at the top.
    await chmod(staging, 0o755)
    await rename(staging, shared).catch(() => rm(staging, { recursive: true, force: true }))
  }
  const { uid, mode } = await stat(shared)
  if (uid !== 0 || (mode & 0o022) !== 0) throw unavailable(`${shared} was not made by root, so it is not used`)
  return shared
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

async function unprivilegedUser(): Promise<{ uid: number; gid: number }> {
  const passwd = await readFile('/etc/passwd', 'utf8')
  for (const name of ['postgres', 'nobody']) {
    const fields = passwd
      .split('\n')
      .find((line) => line.startsWith(`${name}:`))
      ?.split(':')
    if (fields?.[2] && fields[3]) return { uid: Number(fields[2]), gid: Number(fields[3]) }
  }
  throw unavailable('PostgreSQL does not run as root, and this machine has no user `postgres` or `nobody` to run it as')
}

async function reachableByOthers(directory: string): Promise<boolean> {
  const OTHERS_MAY_ENTER = 0o001
  for (let path = directory; ; path = dirname(path)) {
    if (((await stat(path)).mode & OTHERS_MAY_ENTER) === 0) return false
    if (path === dirname(path)) return true
  }
}

/** The `native` directory of the platform's binary package: bin, lib and share of a PostgreSQL installation. */
function nativeDirectory(): string {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const { resolve: find } = createRequire(import.meta.url)
    return join(dirname(find(`@embedded-postgres/${platform}`)), '..', 'native')
  } catch (error) {
    throw unavailable(`there is no embedded PostgreSQL for ${platform}`, error)
  }
}

/** The cluster is made beside its place and moved there whole: what a crash leaves half made is never started. */
async function initialise(home: Home, passwordFile: string): Promise<void> {
  const unfinished = `${home.dataDir}.unfinished`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(dirname(home.dataDir), { recursive: true })
  await mkdir(unfinished, { mode: 0o700 })
  // Made anew and exclusively: in a directory that others may write to, an existing name could be their link.
  await rm(passwordFile, { force: true })
  await writeFile(passwordFile, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600, flag: 'wx' })
  if (home.user) {
    await chown(unfinished, home.user.uid, home.user.gid)
    await chown(passwordFile, home.user.uid, home.user.gid)
  }
  const args = ['-D', unfinished, '-U', 'postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  await run(join(home.binDir, 'initdb'), [...args, '--encoding=UTF8', '--no-locale', '--no-sync'], {
    ...home.user,
    cwd: unfinished,
    env: { PATH: process.env['PATH'] ?? '' },
    timeout: START_TIMEOUT_MS,
  })
  await rename(unfinished, home.dataDir)
}

/** A server of an earlier run may still be shutting down; two on one data directory would be refused. */
async function waitForFormerServer(dataDir: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (Date.now() < deadline) {
    const pid = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').then(
      (text) => Number(text.split('\n')[0]),
      () => 0,
    )
    if (pid === 0 || !isRunning(pid)) return
    // PostgreSQL itself only asks whether there is a process of this number.
    if (!(await mayServe(pid, dataDir))) return rm(join(dataDir, 'postmaster.pid'), { force: true })
    await delay(POLL_MS)
  }
  throw unavailable(`another PostgreSQL is running on ${dataDir}; is the service already started from this directory?`)
}

/**
 * The number of a server that was killed may be another process's by now. PostgreSQL makes the directory it serves its own working
 * directory; where that cannot be seen, the process is taken for the server.
 */
async function mayServe(pid: number, dataDir: string): Promise<boolean> {
  const [directory, wanted] = await Promise.all(
    [`/proc/${pid}/cwd`, dataDir].map((path) => realpath(path).catch(() => null)),
  )
  return directory === null || wanted === null || directory === wanted
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Stops the server when its third descriptor, the pipe held by this process, reaches its end; ends when the server ends. */
const WATCH =
  '"$@" 3<&- & server=$!; { read -r _ <&3; kill -INT "$server" 2>/dev/null; } & reader=$!; ' +
  'wait "$server"; code=$?; kill "$reader" 2>/dev/null; exit "$code"'

interface Server {
  readonly watcher: ChildProcess
  readonly output: string[]
}

function launch(home: Home, port: number, durable: boolean): Server {
  const settings = [`listen_addresses=127.0.0.1`, 'unix_socket_directories=', 'max_connections=200', 'jit=off']
  if (!durable) settings.push('fsync=off', 'synchronous_commit=off', 'full_page_writes=off')
  const args = ['-D', home.dataDir, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
  const watcher = spawn('/bin/sh', ['-c', WATCH, 'watch', join(home.binDir, 'postgres'), ...args], {
    ...home.user,
    cwd: home.dataDir,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '' },
  })
  watcher.unref()
  const output: string[] = []
  watcher.stderr?.on('data', (chunk: Buffer) => {
    output.push(chunk.toString())
    if (output.length > 50) output.shift()
  })
  for (const stream of [watcher.stderr, watcher.stdio[3]]) {
    if (stream && 'unref' in stream && typeof stream.unref === 'function') stream.unref()
    stream?.on('error', () => {})
  }
  return { watcher, output }
}

async function waitUntilReady({ watcher, output }: Server, url: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS
  for (;;) {
    if (watcher.exitCode !== null) throw new Error(output.join('').trim() || `it ended with code ${watcher.exitCode}`)
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
    try {
      await client.connect()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await delay(POLL_MS)
    } finally {
      await client.end().catch(() => {})
    }
  }
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`create database ${DATABASE}`)
  } finally {
    await client.end()
  }
}

async function stop({ watcher }: Server): Promise<void> {
  if (watcher.exitCode !== null || watcher.signalCode !== null) return
  const ended = once(watcher, 'exit')
  watcher.stdio[3]?.destroy()
  watcher.ref()
  await ended
}

async function freePort(): Promise<number> {
  const probe = createServer()
  probe.listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  await new Promise((done) => probe.close(done))
  if (address === null || typeof address === 'string') throw new Error('no free port was found')
  return address.port
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function unavailable(message: string, cause?: unknown): WorkQueueError {
  return new WorkQueueError(
    'embedded_postgres_unavailable',
    `${message}. Set DATABASE_URL to a PostgreSQL 15 or newer to use that instead.`,
    { cause },
  )
}
