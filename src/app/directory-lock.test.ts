import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDirectory } from './directory-lock.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lock-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

test('a directory is held by one process, until it lets go', async () => {
  const release = await lockDirectory(directory)
  await expect(lockDirectory(directory)).rejects.toMatchObject({ code: 'already_running' })
  await release()
  await (await lockDirectory(directory))()
})

test('a lock that a crash left behind is taken over', async () => {
  const gone = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(gone, 'exit')
  await writeFile(join(directory, 'process.pid'), `${gone.pid}\n`)
  await (await lockDirectory(directory))()
})
