/**
 * The part of the receive-pack conversation that GitLab has an opinion about: which references a push wants to change,
 * whether the user may change them, and how a refusal is said so that `git push` shows it. The push itself is git's.
 */
import type { Readable } from 'node:stream'
import type { SandboxContext } from './context.ts'
import { branchHead, ZERO_SHA } from './git/repository.ts'
import { isProtected, mayForcePush, mayPush } from './protection.ts'
import type { Project, Push, User } from './state.ts'

export interface RefCommand {
  readonly before: string
  readonly after: string
  readonly ref: string
}

export interface PushRequest {
  readonly commands: readonly RefCommand[]
  readonly sideBand: boolean
  /** All bytes taken from the stream so far; git has to see them again. */
  readonly head: Buffer
  /** The rest of the stream, unread. */
  readonly rest: AsyncIterator<Buffer>
}

/** Reads the commands from the start of a receive-pack request. Throws on what is no such request. */
export async function readPushRequest(body: Readable): Promise<PushRequest> {
  const rest = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const lines: string[] = []
  let head = Buffer.alloc(0)
  let at = 0
  for (;;) {
    const size = head.length < at + 4 ? null : Number.parseInt(head.toString('latin1', at, at + 4), 16)
    if (size === 0) break
    if (size !== null && (Number.isNaN(size) || size < 4)) throw new Error('not a git push request')
    if (size !== null && head.length >= at + size) {
      lines.push(head.toString('utf8', at + 4, at + size).replace(/\n$/, ''))
      at += size
      continue
    }
    const next = await rest.next()
    if (next.done) throw new Error('the git push request ends early')
    head = Buffer.concat([head, next.value])
  }
  const commands = lines.flatMap((line) => {
    const [command = ''] = line.split('\0')
    const [, before, after, ref] = /^([0-9a-f]{40}) ([0-9a-f]{40}) (\S+)$/.exec(command) ?? []
    return before && after && ref ? [{ before, after, ref }] : []
  })
  return { commands, sideBand: lines.some((line) => /\0.*\bside-band-64k\b/.test(line)), head, rest }
}

/** The branch a reference names; null for tags and everything else. */
function branchOfRef(ref: string): string | null {
  return ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : null
}

/** Why GitLab would decline this push; null: it would not. One refused reference declines the whole push. */
export function refusalOf(
  context: SandboxContext,
  project: Project,
  user: User,
  commands: readonly RefCommand[],
): string | null {
  for (const { ref, after } of commands) {
    const branch = branchOfRef(ref)
    if (branch === null) {
      if (ref.startsWith('refs/tags/')) continue
      return 'You can only push to branches and tags.'
    }
    if (after === ZERO_SHA && branch === project.defaultBranch)
      return 'The default branch of a project cannot be deleted.'
    if (after === ZERO_SHA && isProtected(project, branch)) {
      return 'You can only delete protected branches using the web interface.'
    }
    if (!mayPush(context, project, user, branch)) {
      return 'You are not allowed to push code to protected branches on this project.'
    }
  }
  return null
}

/** Whether some branch of the push must not lose commits. */
export function needsFastForward(
  context: SandboxContext,
  project: Project,
  user: User,
  commands: readonly RefCommand[],
): boolean {
  return commands.some(({ ref }) => {
    const branch = branchOfRef(ref)
    return branch !== null && !mayForcePush(context, project, user, branch)
  })
}

/** The answer that makes `git push` print `text` and mark every reference as declined. */
export function refusalAnswer({ commands, sideBand }: PushRequest, text: string): Buffer {
  const report = Buffer.concat([
    packet('unpack ok\n'),
    ...commands.map(({ ref }) => packet(`ng ${ref} pre-receive hook declined\n`)),
    FLUSH,
  ])
  if (!sideBand) return report
  return Buffer.concat([packet(`\x02GitLab: ${text}\n`), packet(Buffer.concat([Buffer.of(1), report])), FLUSH])
}

/** The commands that still have something to do: a push whose answer was lost is sent again by git itself. */
export async function openCommands(
  context: SandboxContext,
  project: Project,
  commands: readonly RefCommand[],
): Promise<readonly RefCommand[]> {
  const open: RefCommand[] = []
  for (const command of commands) {
    const branch = branchOfRef(command.ref)
    const tip = branch === null ? null : ((await branchHead(context.git(project), branch)) ?? ZERO_SHA)
    if (tip !== command.after) open.push(command)
  }
  return open
}

/** The branches that really moved, as pushes. */
export async function pushesOf(
  context: SandboxContext,
  project: Project,
  user: User,
  commands: readonly RefCommand[],
): Promise<readonly Push[]> {
  const moved: Push[] = []
  for (const { ref, before, after } of commands) {
    const branch = branchOfRef(ref)
    if (branch === null || before === after) continue
    const tip = (await branchHead(context.git(project), branch)) ?? ZERO_SHA
    if (tip === after) moved.push({ project, branch, before, after, userId: user.id })
  }
  return moved.map((push) => ({ ...push, branchesInPush: moved.length }))
}

const FLUSH = Buffer.from('0000')

/** One pkt-line: four hex digits of length, themselves counted, and the content. */
export function packet(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}
