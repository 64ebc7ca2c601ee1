/** Starts the sandbox GitLab, with a sentence for people when its port is taken. */
import { runSandbox } from '../../sandbox/gitlab/main.ts'
import type { Log } from '../lib/log.ts'
import { listenFailure } from './listen-failure.ts'

const HOST = '127.0.0.1'

export type RunningSandbox = Awaited<ReturnType<typeof runSandbox>>

/** @throws WorkQueueError `port_in_use`, `listen_failed`. */
export async function startSandbox(options: { dataDir: string; port: number; log: Log }): Promise<RunningSandbox> {
  try {
    return await runSandbox({ ...options, host: HOST })
  } catch (error) {
    throw listenFailure(error, HOST, options.port, 'the sandbox GitLab')
  }
}
