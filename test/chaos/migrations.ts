/**
 * R11: `wq migrate` brings the first complete schema up to today's while workers of the former version go on and a dump of
 * the whole database is running. None of their statements may wait for more than a second. Where the schema is up to date
 * already, neither `wq migrate` nor the start of the service executes any DDL.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { stringify } from 'yaml'
import { newToken } from '../../src/auth/token.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { type ChaosPostgres, startChaosPostgres } from './support/postgres.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'

const FORMER = '0004-mr-details'
const MIGRATIONS = new URL('../../migrations/', import.meta.url)
const TABLE = 'workqueue_service_migrations'
const ITEMS = 100_000
const SESSIONS = 4
const DUMP_MS = 5_000
const ALLOWED_MS = 1_000

/** What workers of the former version do all day, over its columns only. */
const STATEMENTS = [
  `update work_items set leased_until = now() + interval '30 s', lease_epoch = lease_epoch + 1, actionable = true
   where id = (select id from work_items where dedup_key = $1)`,
  `insert into pending_events (work_item_id, event_type, event_at, body)
   select id, 'ping', now(), '{}' from work_items where dedup_key = $1`,
  `insert into work_item_statuses (work_item_id, dimension, status)
   select id, 'needs_reconcile', 'true' from work_items where dedup_key = $1
   on conflict (work_item_id, dimension, variant) do update set status = 'true', updated_at = now()`,
  `select * from work_items join mr_details on work_item_id = id where dedup_key = $1`,
  `delete from pending_events where id in (
     select e.id from pending_events e join work_items w on w.id = work_item_id where dedup_key = $1)`,
]

export async function migrations({ scale }: ChaosOptions): Promise<Verdict> {
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-chaos-'))
  const postgres = await startChaosPostgres(directory)
  try {
    const items = Math.ceil(ITEMS * scale)
    await formerDatabase(postgres, items)
    const config = await writeConfig(directory, postgres.url)
    const live = liveStatements(postgres, items)
    const dump = dumping(postgres)
    await delay(500)
    const startedAt = performance.now()
    const exitCode = await migrate(config)
    const migrateMs = Math.round(performance.now() - startedAt)
    await dump
    const { slowestMs, errors, statements } = await live.stop()
    const ddl = await withoutDdl(postgres, config)
    return {
      goal: 'R11',
      figure: Math.round(slowestMs),
      target: `slowest statement beside the migration <= ${ALLOWED_MS} ms; no DDL when up to date`,
      ok: slowestMs <= ALLOWED_MS && exitCode === 0 && errors.length === 0 && ddl === 'none',
      items,
      statements,
      migrate_exit_code: exitCode,
      migrate_ms: migrateMs,
      failed_statements: errors.length,
      errors: [...new Set(errors)].slice(0, 3),
      ddl_when_up_to_date: ddl,
    }
  } finally {
    await postgres.remove()
    await rm(directory, { recursive: true, force: true })
  }
}

async function formerDatabase(postgres: ChaosPostgres, items: number): Promise<void> {
  const db = openDatabase({ url: postgres.url })
  await migrateTo(db, FORMER)
  await db.destroy()
  await postgres.query(
    `with items as (
       insert into work_items (id, item_type, actionable, dedup_key, content_hash, caller_identity)
       select gen_random_uuid(), 'mr', false, 'item-' || n, md5(n::text), 'chaos' from generate_series(1, ${items}) n
       returning id, dedup_key),
     details as (
       insert into mr_details (work_item_id, project, source_branch, title, description, commit_message, file_actions,
         labels, assignees, reviewers, auto_merge, squash, remove_source_branch)
       select id, 'group/widgets', dedup_key, 'A title', '', '', '[]', '{}', '{}', '{}', true, false, true from items)
     insert into work_item_statuses (work_item_id, dimension, status, pending_until)
     select id, 'needs_reconcile', 'true', now() + interval '1 hour' from items`,
  )
  await postgres.query('vacuum analyze')
}

/** As the former version's `wq migrate` left it: under the names of `src/db/migrate.ts`, up to `last`. */
async function migrateTo(db: Database, last: string): Promise<void> {
  const names = (await readdir(MIGRATIONS)).map((file) => file.replace(/\.sql$/, '')).filter((name) => name <= last)
  const read = async (name: string) => {
    const text = await readFile(new URL(`${name}.sql`, MIGRATIONS), 'utf8')
    return [name, { up: async () => void (await sql.raw(text).execute(db)) }] as const
  }
  const former = Object.fromEntries(await Promise.all(names.map(read)))
  const provider = { getMigrations: async () => former }
  const migrator = new Migrator({
    db,
    provider,
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
    disableTransactions: true,
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

interface Live {
  stop(): Promise<{ slowestMs: number; statements: number; errors: string[] }>
}

function liveStatements(postgres: ChaosPostgres, items: number): Live {
  const errors: string[] = []
  let [slowestMs, statements, on] = [0, 0, true]
  const sessions = Array.from({ length: SESSIONS }, async (_, index) => {
    const session = await postgres.session()
    for (let turn = index; on; turn += 1) {
      const sentAt = performance.now()
      const statement = STATEMENTS[turn % STATEMENTS.length] ?? ''
      await session.query(statement, [`item-${1 + (turn % items)}`]).catch((error) => errors.push(String(error)))
      slowestMs = Math.max(slowestMs, performance.now() - sentAt)
      statements += 1
      await delay(5)
    }
    await session.end()
  })
  return {
    async stop() {
      on = false
      await Promise.all(sessions)
      return { slowestMs, statements, errors }
    },
  }
}

/** What pg_dump does to others: one long transaction that holds ACCESS SHARE on every table. */
async function dumping(postgres: ChaosPostgres): Promise<void> {
  const session = await postgres.session()
  await session.query('begin isolation level repeatable read read only')
  await session.query('lock table work_items, work_item_statuses, pending_events, mr_details in access share mode')
  await delay(DUMP_MS)
  await session.query('commit')
  await session.end()
}

async function writeConfig(directory: string, url: string): Promise<string> {
  const file = join(directory, 'config.yaml')
  const rules = [{ name: 'chaos', token_sha256: newToken().sha256, permissions: ['read'] }]
  await writeFile(file, stringify({ database: { url }, server: { port: 0 }, auth: { rules } }), { mode: 0o600 })
  return file
}

function runWq(...args: string[]): ChildProcess {
  return spawn(process.execPath, ['src/cli/main.ts', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '' },
  })
}

async function migrate(config: string): Promise<number | null> {
  const child = runWq('migrate', '--config', config)
  child.stdout?.resume()
  await once(child, 'exit')
  return child.exitCode
}

/** With an event trigger that refuses every DDL, both must succeed. */
async function withoutDdl(postgres: ChaosPostgres, config: string): Promise<string> {
  await postgres.query(`create function refuse_ddl() returns event_trigger language plpgsql as
    $$ begin raise exception 'no DDL was expected, but %', tg_tag; end $$`)
  await postgres.query('create event trigger no_ddl on ddl_command_start execute function refuse_ddl()')
  if ((await migrate(config)) !== 0) return 'wq migrate'
  const service = runWq('serve', '--config', config)
  if (service.stdout === null) throw new Error('the service was started without a pipe')
  const exit = once(service, 'exit')
  const up = new Promise<boolean>((resolve) => {
    service.once('exit', () => resolve(false))
    if (service.stdout !== null) {
      createInterface(service.stdout).on('line', (line) => line.includes('the service is up') && resolve(true))
    }
  })
  const started = await up
  service.kill('SIGTERM')
  await exit
  return started ? 'none' : 'the start of the service'
}
