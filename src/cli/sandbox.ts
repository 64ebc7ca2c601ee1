/** `wq sandbox`: the sandbox GitLab alone, for trying a client or a configuration against it. */
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { createLog } from '../app/log.ts'
import { runUntilSignal } from '../app/signals.ts'
import { readPort } from './read-port.ts'

interface Options {
  readonly dataDir: string
  readonly port: number
  readonly json?: true
}

export function registerSandboxCommand(program: Command): void {
  program
    .command('sandbox')
    .description('run the sandbox GitLab alone: real git repositories behind the REST API the service uses')
    .option('--data-dir <directory>', 'where it keeps repositories and records', '.workqueue/gitlab')
    .option('--port <port>', 'where it listens on 127.0.0.1; 0 = any free port', readPort, 8088)
    .option('--json', 'print JSON')
    .action(sandbox)
}

async function sandbox({ dataDir, port, json }: Options): Promise<void> {
  const log = createLog('info', join(resolve(dataDir), 'sandbox.log'))
  const { startSandbox } = await import('../app/sandbox.ts')
  const gitlab = await startSandbox({ dataDir, port, log })
  const { url, project, tokens } = gitlab
  if (json) console.log(JSON.stringify({ url, project, tokens }))
  else {
    console.log(`The sandbox GitLab is up at ${url}, its data is in ${resolve(dataDir)}. Ctrl-C stops it.\n`)
    console.log(`  project        ${url}/${project}`)
    console.log(`  clone          git clone ${url}/${project}.git   (any user name, a token as password)`)
    console.log(`  root's token   ${tokens.root}`)
    console.log(`  bot's token    ${tokens.bot}`)
  }
  await runUntilSignal(gitlab.close)
}
