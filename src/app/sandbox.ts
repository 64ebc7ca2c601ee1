/** Starts the sandbox GitLab, one a directory, with a sentence for people when it or its port is taken. */
import { mkdir } from 'node:fs/promises'
import { runSandbox } from '../../sandbox/gitlab/main.ts'
import type { Log } from '../lib/log.ts'
import { lockDirectory } from './directory-lock.ts'
import { listenFailure } from './listen-failure.ts'

const HOST = '127.0.0.1'

export type RunningSandbox = Awaited<ReturnType<typeof runSandbox>>

/** @throws WorkQueueError `already_running`, `port_in_use`, `listen_failed`. */
export async function startSandbox(options: { dataDir: string; port: number; log: Log }): Promise<RunningSandbox> {
  await mkdir(options.dataDir, { recursive: true })
  const unlock = await lockDirectory(options.dataDir)
  try {
    const gitlab = await runSandbox({ ...options, host: HOST })
    return {
      ...gitlab,
      async close() {
        await gitlab.close()
        await unlock()
      },
    }
  } catch (error) {
    await unlock()
    throw listenFailure(error, HOST, options.port, 'the sandbox GitLab')
  }
}
