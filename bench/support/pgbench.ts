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
  return { name: 'pgbench INSERT', measure: (...load) => runPgbench(pgbench, url, INSERT, ...load) }
}

const BATCH = 10
const HOT_ITEMS = 1_000
const EVENT_TABLES = `
  create table if not exists bench_event_items (id int primary key, actionable boolean not null);
  create table if not exists bench_events (
    id bigint primary key generated always as identity,
    item_id int not null,
    body jsonb not null,
    received_at timestamptz not null default now()
  );
  insert into bench_event_items select id, false from generate_series(1, ${HOT_ITEMS}) id on conflict do nothing`
/** Ten events of ten items in one statement and one commit, and their items flagged, with a lock for each item. */
const storeBatch = (first: string) => `
  with locked as materialized (
    select item, pg_advisory_xact_lock(item) from generate_series(${first}, ${first} + ${BATCH - 1}) item order by item
  ),
  stored as (
    insert into bench_events (item_id, body) select item, '{"text": "${TEXT}"}' from locked returning item_id
  )
  update bench_event_items set actionable = true from stored where id = item_id and not actionable`

/** What PostgreSQL can do with events that come ten at a time; events a second. */
export async function eventBatchLimit(url: string): Promise<InsertLimit> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(EVENT_TABLES)
  await client.end()
  const pgbench = await findPgbench()
  const name = `ten events a commit, ${pgbench === null ? 'bare pg loop' : 'pgbench'}`
  const last = HOT_ITEMS - BATCH + 1
  return {
    name,
    async measure(...load) {
      if (pgbench === null) return BATCH * (await insertByDriver(url, ...load, storeBatch(String(last))))
      const script = `\\set first random(1, ${last})\n${storeBatch(':first').replaceAll('\n', ' ')}`
      return BATCH * (await runPgbench(pgbench, url, script, ...load))
    },
  }
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

async function runPgbench(
  pgbench: string,
  url: string,
  statement: string,
  clients: number,
  seconds: number,
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-bench-'))
  try {
    const script = join(directory, 'statement.sql')
    await writeFile(script, `${statement};\n`)
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

async function insertByDriver(url: string, clients: number, seconds: number, text = INSERT): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: clients })
  try {
    const startedAt = performance.now()
    let inserted = 0
    const lane = async () => {
      while (performance.now() - startedAt < seconds * 1_000) {
        await pool.query({ name: 'insert', text })
        inserted += 1
      }
    }
    await Promise.all(Array.from({ length: clients }, lane))
    return (inserted * 1_000) / (performance.now() - startedAt)
  } finally {
    await pool.end()
  }
}
