/**
 * `wq start`, what `npm start` runs. With `--config` it is `wq serve`. Without, local mode: everything on this machine,
 * a demo submission that travels to its merge before the eyes of whoever started it, and a line to paste for the next.
 */
import { join, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import type { LocalMode } from '../app/local.ts'
import { runUntilSignal } from '../app/signals.ts'
import { type Client, createClient } from '../client/client.ts'
import { messageOf } from '../lib/errors.ts'
import { createOutput, type Output, table } from './output.ts'
import { readPort } from './read-port.ts'
import { serve } from './serve.ts'
import { watchWorkItem } from './watch.ts'

interface Options {
  readonly config?: string
  readonly dataDir: string
  readonly port?: number
  readonly gitlabPort?: number
  readonly demo: boolean
}

const REPOSITORY = resolve(import.meta.dirname, '../..')
const DEFAULT_DATA_DIR = '.workqueue'
const WATCH_INTERVAL_MS = 250

export function registerStartCommand(program: Command): void {
  program
    .command('start')
    .description('run everything on this machine, with nothing configured; with --config, the real thing')
    .option('-c, --config <file>', 'run the service with this configuration instead')
    .option('--data-dir <directory>', 'where local mode keeps its data', DEFAULT_DATA_DIR)
    .option('--port <port>', 'where the service listens (default: 8087, or any free port)', readPort)
    .option('--gitlab-port <port>', 'where the sandbox GitLab listens (default: 8088, or any free port)', readPort)
    .option('--no-demo', 'without the demo submission')
    .action((options: Options) => (options.config === undefined ? local(options) : serve(options.config)))
}

async function local(options: Options): Promise<void> {
  const output = createOutput()
  output.print('Starting PostgreSQL, the sandbox GitLab and the service …')
  const { dataDir, port, gitlabPort } = options
  // A service in production has no use for the sandbox, and need not hold it in memory.
  const { startLocalMode } = await import('../app/local.ts')
  const running = await startLocalMode({
    dataDir,
    ...(port === undefined ? {} : { port }),
    ...(gitlabPort === undefined ? {} : { gitlabPort }),
  })
  let stopping = false
  const stopped = runUntilSignal(async () => {
    stopping = true
    output.print('\nStopping …')
    await running.stop()
    output.print('Stopped. The next start finds its data.')
  })
  describe(running, output)
  const client = createClient({ url: running.url, token: running.token })
  // A person who stops the demo halfway has not asked to hear of its errors.
  if (options.demo) {
    await runDemo(client, running, output).catch((error: unknown) => {
      if (!stopping) output.complain(`The demo did not come to its end: ${messageOf(error)}`)
    })
  }
  if (!stopping) invite(running, dataDir, output)
  await stopped
}

function describe(local: LocalMode, { print, colors }: Output): void {
  const { url, gitlabUrl, project, cloneUrl, databaseDescription, logFile } = local
  const rows = [
    ['  service', `${url}   (documentation: ${url}/docs)`],
    ['  GitLab', `${gitlabUrl}   (a sandbox over real git repositories; nothing leaves this machine)`],
    ['  project', `${gitlabUrl}/${project}`],
    ['  clone', `git clone ${cloneUrl}`],
    ['  database', `PostgreSQL, ${databaseDescription}`],
    ['  log', relative(process.cwd(), logFile)],
  ]
  print('')
  for (const line of table(rows, (cell, column) => (column === 0 ? colors.dim(cell) : cell))) print(line)
}

async function runDemo(client: Client, { project }: LocalMode, output: Output): Promise<void> {
  const { items } = await client.list({ limit: 1 })
  const startedAt = new Date()
  const stamp = startedAt.toISOString().replace(/[-:]|\.\d+Z/g, '')
  output.print(`\n${output.colors.bold('A change goes in, a merged merge request comes out:')}`)
  const { work_item, outcome } = await client.submit({
    item_type: 'mr',
    project,
    source_branch: `queue/demo-${stamp.toLowerCase()}`,
    title: 'Note this start in the project',
    description: items.length === 0 ? 'The first start.' : 'Another start; what came before is still here.',
    file_actions: [
      { action: 'upsert', file_path: 'docs/last-start.md', content: `# Last start\n\n${startedAt.toISOString()}\n` },
    ],
    auto_merge: true,
    remove_source_branch: true,
  })
  output.print(`${output.colors.dim(startedAt.toTimeString().slice(0, 8))}  ${outcome}  work item ${work_item.id}`)
  await watchWorkItem(client, work_item.id, { interval: WATCH_INTERVAL_MS }, output)
}

function invite({ url, token }: LocalMode, dataDir: string, { print, colors }: Output): void {
  const wq = shellWord(join(REPOSITORY, 'bin/wq'))
  const example = shellWord(join(REPOSITORY, 'examples/hello.yaml'))
  // The command line finds local mode by itself where it keeps its data in the usual place.
  const prefix = resolve(dataDir) === join(REPOSITORY, DEFAULT_DATA_DIR) ? '' : `WQ_URL=${url} WQ_TOKEN=${token} `
  print(`\n${colors.bold('Now you.')} Paste this into a second terminal:\n`)
  print(`  ${prefix}${wq} submit ${example} --watch\n`)
  print('Ctrl-C stops everything; the next start finds its data.')
}

/** A path as a shell takes it for one word, whatever is in it. */
function shellWord(path: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
