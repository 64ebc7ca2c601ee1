import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startEmbeddedPostgres } from './embedded.ts'

test('a server that was killed does not keep the next one from starting, whoever has its process number now', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'workqueue-embedded-'))
  try {
    const dataDir = join(directory, 'postgres')
    const first = await startEmbeddedPostgres({ dataDir, durable: false })
    await first.stop()
    await writeFile(join(first.dataDir, 'postmaster.pid'), `${process.pid}\n${first.dataDir}\n`)

    const second = await startEmbeddedPostgres({ dataDir, durable: false })
    const client = new pg.Client({ connectionString: second.url })
    await client.connect()
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await client.end()
    await second.remove()
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}, 60_000)
