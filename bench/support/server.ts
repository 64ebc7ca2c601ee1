/**
 * The PostgreSQL that everything in one run is measured on: DATABASE_URL where it is set, else the embedded one, started
 * durable as in production. Each goal gets a database of its own there, which is dropped after it.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { runOnServer, withDatabase } from '../../test/support/server.ts'

export interface BenchServer {
  /** For the record of a run: version and the settings that decide how fast a commit is. */
  describe(): Promise<Record<string, string>>
  createDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }>
  /** Drops what is left and stops what was started. */
  close(): Promise<void>
}

export async function openServer(): Promise<BenchServer> {
  const { url, kind, stop } = await findServer()
  const databases = new Set<string>()
  const drop = async (name: string) => {
    if (databases.delete(name)) await runOnServer(url, `drop database ${name} with (force)`)
  }
  return {
    async describe() {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      try {
        const { rows } = await client.query<Record<string, string>>(`
          select
            current_setting('server_version') as postgres,
            current_setting('fsync') as fsync,
            current_setting('synchronous_commit') as synchronous_commit,
            current_setting('shared_buffers') as shared_buffers`)
        return { server: kind, ...rows[0] }
      } finally {
        await client.end()
      }
    },
    async createDatabase() {
      const name = `bench_${randomBytes(6).toString('hex')}`
      await runOnServer(url, `create database ${name}`)
      databases.add(name)
      return { url: withDatabase(url, name), drop: () => drop(name) }
    },
    async close() {
      await Promise.all([...databases].map(drop))
      await stop()
    },
  }
}

async function findServer(): Promise<{ url: string; kind: string; stop(): Promise<void> }> {
  const url = process.env['DATABASE_URL']
  if (url) return { url, kind: 'DATABASE_URL', async stop() {} }
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-bench-'))
  const server = await startEmbeddedPostgres({ dataDir: join(directory, 'postgres'), durable: true })
  return {
    url: server.url,
    kind: 'embedded',
    async stop() {
      await server.remove()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
