/**
 * The least that accepting a work item over HTTP can cost on this machine: node:http, one statement, one commit. It writes
 * what the product writes, an item with its indexes, its detail and three dimensions, and does nothing else: no
 * authentication, no validation, no audit.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import pg from 'pg'
import { z } from 'zod'
import { serveParent } from '../support/process.ts'

const TABLES = `
  create schema if not exists floor;
  create table if not exists floor.items (
    id uuid primary key,
    item_type text not null,
    phase text not null default 'active',
    actionable boolean not null default true,
    attempts integer not null default 0,
    leased_until timestamptz,
    lease_epoch bigint not null default 0,
    dedup_key text not null,
    content_hash text not null,
    caller_identity text not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
  );
  create unique index if not exists floor_live on floor.items (dedup_key) where phase in ('active', 'failed');
  create index if not exists floor_due on floor.items (created_at, id) where actionable;
  create table if not exists floor.details (
    work_item_id uuid primary key references floor.items (id) on delete cascade,
    submission jsonb not null
  );
  create table if not exists floor.dimensions (
    work_item_id uuid not null references floor.items (id) on delete cascade,
    dimension text not null,
    variant text not null default '',
    status text not null,
    pending_until timestamptz,
    primary key (work_item_id, dimension, variant)
  );`

const INSERT = `
  with item as (
    insert into floor.items (id, item_type, dedup_key, content_hash, caller_identity)
    values ($1, 'bench', $2, '', 'bench')
    returning id, created_at
  ),
  detail as (
    insert into floor.details (work_item_id, submission)
    select id, $3::jsonb from item
  ),
  dimensions as (
    insert into floor.dimensions (work_item_id, dimension, status)
    select id, dimension, 'true' from item, unnest(array['needs_run', 'needs_look', 'needs_check']) dimension
  )
  select id, created_at from item`

const bodySchema = z.object({ key: z.string() })
/** A pool of half the connections that load it was the fastest. */
const CONNECTIONS = 10

await serveParent(z.object({ url: z.string() }), async ({ url }) => {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  await pool.query(TABLES)
  const server = createServer((request, response) => {
    accept(pool, request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : null
  return {
    target: async () => ({ url: `http://127.0.0.1:${port}/items`, token: '' }),
    async stop() {
      server.closeAllConnections()
      server.close()
      await pool.end()
    },
  }
})

async function accept(pool: pg.Pool, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
  const values = [randomUUID(), bodySchema.parse(body).key, JSON.stringify(body)]
  const { rows } = await pool.query({ name: 'insert', text: INSERT, values })
  const answer = JSON.stringify({ outcome: 'created', work_item: rows[0] })
  response.writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) })
  response.end(answer)
}
