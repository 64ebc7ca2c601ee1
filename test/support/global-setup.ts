/**
 * Runs once before all test files: finds or starts PostgreSQL and migrates the template database that each file clones.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { openDatabase } from '../../src/db/database.ts'
import { startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { runOnServer, withDatabase } from './server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: { url: string; template: string }
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await findServer()
  const template = `template_${randomBytes(6).toString('hex')}`
  await runOnServer(server.url, `create database ${template}`)
  const db = openDatabase({ url: withDatabase(server.url, template) })
  await migrate(db)
  await db.destroy()
  project.provide('postgres', { url: server.url, template })
  return async () => {
    await runOnServer(server.url, `drop database ${template} with (force)`)
    await server.stop()
  }
}

async function findServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const url = process.env['DATABASE_URL']
  if (url) return { url, async stop() {} }
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-test-'))
  const server = await startEmbeddedPostgres({ dataDir: join(directory, 'postgres'), durable: false })
  return {
    url: server.url,
    async stop() {
      await server.remove()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
