/**
 * One process a directory: a second sandbox on the same data would write over the records of the first. The lock is a file
 * with the holder's process id; one left behind by a process that is gone is taken over.
 */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WorkQueueError } from '../lib/errors.ts'

/** Answers the release. @throws WorkQueueError `already_running`. */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const file = join(directory, 'process.pid')
  for (;;) {
    try {
      await writeFile(file, `${process.pid}\n`, { flag: 'wx' })
      return () => rm(file, { force: true })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
    const holder = Number(await readFile(file, 'utf8').catch(() => ''))
    if (holder > 0 && isRunning(holder)) {
      throw new WorkQueueError(
        'already_running',
        `It is running already on ${directory} (process ${holder}). Stop that one with Ctrl-C, or give another --data-dir.`,
      )
    }
    await rm(file, { force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
