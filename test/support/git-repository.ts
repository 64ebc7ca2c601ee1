/**
 * A real Git repository in a folder that goes with the test, which knows nothing of the machine's configuration. The
 * process is in that folder meanwhile, because that is where the command line looks.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** By path. */
export type Files = ReadonlyMap<string, File>

export interface File {
  readonly content: Buffer
  readonly mode: '100644' | '100755'
}

export interface GitRepository {
  readonly directory: string
  git(args: readonly string[], input?: string | Buffer): Promise<string>
  /** Commits a whole tree to a branch, without touching the working tree. `parent` null = a root. */
  commit(branch: string, parent: string | null, files: Files, subject?: string): Promise<void>
  remove(): Promise<void>
}

const ENV = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ann',
  GIT_AUTHOR_EMAIL: 'ann@example.com',
  GIT_COMMITTER_NAME: 'Ann',
  GIT_COMMITTER_EMAIL: 'ann@example.com',
}

export async function createGitRepository(): Promise<GitRepository> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'wq-repository-')))
  const before = process.cwd()
  process.chdir(directory)

  function git(args: readonly string[], input: string | Buffer = ''): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const options = { cwd: directory, env: ENV, encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 } as const
      const child = execFile('git', args, options, (error, out, err) =>
        error === null ? resolve(out) : reject(new Error(`git ${args.join(' ')}: ${err.toString()}`)),
      )
      child.stdin?.on('error', () => {})
      child.stdin?.end(input)
    })
  }

  await git(['init', '--quiet', '--initial-branch=main'])
  return {
    directory,
    git: async (args, input) => (await git(args, input)).toString('utf8').trimEnd(),
    async commit(branch, parent, files, subject = 'Change files') {
      const parts: (string | Buffer)[] = [
        `commit refs/heads/${branch}\ncommitter Ann <ann@example.com> 1772445600 +0000\n${data(Buffer.from(subject))}`,
        parent === null ? '' : `from refs/heads/${parent}^0\n`,
        'deleteall\n',
      ]
      for (const [path, { content, mode }] of files) {
        parts.push(`M ${mode} inline ${JSON.stringify(path)}\ndata ${content.length}\n`, content, '\n')
      }
      await git(['fast-import', '--quiet', '--force'], Buffer.concat(parts.map((part) => Buffer.from(part))))
    },
    async remove() {
      process.chdir(before)
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function data(bytes: Buffer): string {
  return `data ${bytes.length}\n${bytes.toString('utf8')}\n`
}

export const lines = (count: number, first = 1) =>
  Array.from({ length: count }, (_, index) => `line ${first + index}\n`).join('')

/** Plain contents are ordinary files. */
export function tree(files: Readonly<Record<string, string | Buffer | File>>): Files {
  return new Map(
    Object.entries(files).map(([path, file]): [string, File] => [
      path,
      typeof file === 'string' || Buffer.isBuffer(file) ? { content: Buffer.from(file), mode: '100644' } : file,
    ]),
  )
}

export const script = (content: string): File => ({ content: Buffer.from(content), mode: '100755' })
