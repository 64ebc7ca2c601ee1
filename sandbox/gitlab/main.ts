/**
 * The sandbox as a program runs it: on a directory that is filled at the first start with two users (an administrator and
 * the service's bot), their random tokens, and a demo project. Later starts find all of it again.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { MAINTAINER, OWNER } from './auth.ts'
import type { SandboxContext } from './context.ts'
import { DEMO_FILES, DEMO_PROJECT } from './demo.ts'
import { createProject } from './projects.ts'
import { type RunningSandbox, type ServerOptions, startSandboxGitLab } from './sandbox.ts'
import type { User } from './state.ts'
import { addToken, createUser, type NewUser } from './users.ts'

export type RunOptions = Omit<ServerOptions, 'clock'>

export interface SandboxRun extends Pick<RunningSandbox, 'faults' | 'writes'> {
  readonly url: string
  /** Full path of the demo project. */
  readonly project: string
  readonly tokens: { readonly root: string; readonly bot: string }
  close(): Promise<void>
}

const tokenFile = z.object({ root: z.string().min(20), bot: z.string().min(20) })

function newToken(): string {
  return `glpat-${randomBytes(20).toString('hex')}`
}

/** The tokens of former starts, or new ones, readable by the owner of the file only. */
async function readTokens(dataDir: string): Promise<{ root: string; bot: string }> {
  const file = join(dataDir, 'tokens.json')
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text !== null) {
    const parsed = tokenFile.safeParse(JSON.parse(text))
    if (parsed.success) return parsed.data
    throw new Error(`${file} does not hold the sandbox's two tokens; delete it to get new ones`)
  }
  const tokens = { root: newToken(), bot: newToken() }
  await writeFile(`${file}.tmp`, `${JSON.stringify(tokens, null, 2)}\n`, { mode: 0o600 })
  await rename(`${file}.tmp`, file)
  return tokens
}

function ensureUser(context: SandboxContext, given: NewUser & { token: string }): User {
  const user = context.findUserByName(given.username)
  if (!user) return createUser(context, given)
  if (context.userOf(given.token) === null) addToken(context, user, given.token)
  return user
}

/** Starts the sandbox of `dataDir`. Rejects with one sentence when the port is taken or the directory cannot be used. */
export async function runSandbox(options: RunOptions): Promise<SandboxRun> {
  const dataDir = resolve(options.dataDir)
  await mkdir(dataDir, { recursive: true })
  const tokens = await readTokens(dataDir)
  const sandbox = await startSandboxGitLab({ ...options, dataDir })
  try {
    const { context } = sandbox
    const root = ensureUser(context, { username: 'root', name: 'Administrator', admin: true, token: tokens.root })
    const bot = ensureUser(context, { username: 'workqueue-bot', name: 'Workqueue Bot', bot: true, token: tokens.bot })
    if (!context.findProject(DEMO_PROJECT)) {
      const members = { [root.id]: OWNER, [bot.id]: MAINTAINER }
      await createProject(context, {
        path: DEMO_PROJECT,
        description: 'A small project to try things on.',
        files: DEMO_FILES,
        members,
      })
    }
    await context.flush()
    const { url, faults, writes } = sandbox
    return { url, faults, writes, project: DEMO_PROJECT, tokens, close: () => sandbox.close() }
  } catch (error) {
    await sandbox.close()
    throw error
  }
}
