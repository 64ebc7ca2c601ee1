/**
 * What PostgreSQL itself can do on this machine: one INSERT a commit. By pgbench where it is installed, else by a bare loop
 * over the driver, which is slower and therefore named as what it is.
 */
import { execFile } from 'node:child_process'
import { access, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { TEXT } from './contender.ts'

const run = promisify(execFile)
const DEBIAN = '/usr/lib/postgresql'
const TABLE = `
  create table if not exists bench_inserts (
    id bigint primary key generated always as identity,
    item_type text not null,
    submission jsonb not null,
    created_at timestamptz not null default now()
  )`
const INSERT = `insert into bench_inserts (item_type, submission) values ('bench', '{"text": "${TEXT}"}')`

export interface InsertLimit {
  readonly name: string
  /** INSERTs a second with so many clients at a time. */
  measure(clients: number, seconds: number): Promise<number>
}

export async function insertLimit(url: string): Promise<InsertLimit> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(TABLE)
  await client.end()
  const pgbench = await findPgbench()
  if (pgbench === null) return { name: 'INSERT, bare pg loop', measure: (...load) => insertByDriver(url, ...load) }
  return { name: 'pgbench INSERT', measure: (...load) => insertByPgbench(pgbench, url, ...load) }
}

export async function findPgbench(): Promise<string | null> {
  const versions = await readdir(DEBIAN).catch(() => [])
  const newestFirst = versions.toSorted((left, right) => Number(right) - Number(left))
  const directories = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...newestFirst.map((version) => join(DEBIAN, version, 'bin')),
  ]
  for (const directory of directories) {
    const path = join(directory, 'pgbench')
    const found = await access(path).then(
      () => true,
      () => false,
    )
    if (found) return path
  }
  return null
}

async function insertByPgbench(pgbench: string, url: string, clients: number, seconds: number): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-bench-'))
  try {
    const script = join(directory, 'insert.sql')
    await writeFile(script, `${INSERT};\n`)
    const load = ['-c', String(clients), '-j', String(Math.min(2, clients)), '-T', String(seconds)]
    const { stdout } = await run(pgbench, ['-n', '-M', 'prepared', ...load, '-f', script], {
      env: connectionEnvironment(url),
      timeout: (seconds + 30) * 1_000,
    })
    const rate = /^tps = ([\d.]+)/m.exec(stdout)?.[1]
    if (rate === undefined) throw new Error(`pgbench said no rate: ${stdout}`)
    return Number(rate)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The address for libpq in the environment, where other users of the machine cannot read the password. */
function connectionEnvironment(url: string): NodeJS.ProcessEnv {
  const { hostname, port, username, password, pathname } = new URL(url)
  return {
    PATH: process.env['PATH'] ?? '',
    PGHOST: hostname,
    PGPORT: port === '' ? '5432' : port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
  }
}

async function insertByDriver(url: string, clients: number, seconds: number): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: clients })
  try {
    const startedAt = performance.now()
    let inserted = 0
    const lane = async () => {
      while (performance.now() - startedAt < seconds * 1_000) {
        await pool.query({ name: 'insert', text: INSERT })
        inserted += 1
      }
    }
    await Promise.all(Array.from({ length: clients }, lane))
    return (inserted * 1_000) / (performance.now() - startedAt)
  } finally {
    await pool.end()
  }
}
