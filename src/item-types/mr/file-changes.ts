/**
 * What a plan would change in the target, a file each, for people: against what is there now, with differences where the
 * reader may see them. Bounded in what it reads and in what it shows, for the event loop belongs to others as well.
 */
import { isUtf8 } from 'node:buffer'
import { createTwoFilesPatch } from 'diff'
import type { GitLabFile } from '../../gitlab/port.ts'
import type { PlanOnTree } from './executors/plan-on-tree.ts'
import type { FileAction } from './schema.ts'

export interface FileChange {
  readonly path: string
  readonly previous_path?: string
  readonly change: 'create' | 'update' | 'delete' | 'move' | 'chmod' | 'unchanged'
  readonly bytes?: number
  readonly mode?: string
  readonly diff?: string
}

/** What the target holds at a path; null: nothing. */
export type ReadTarget = (path: string) => Promise<GitLabFile | null>

const MOST_FILES_READ = 50
/** A caller waits for all of them. */
const READ_AT_ONCE = 8
const MOST_DIFFED_BYTES = 256 * 1024
const LONGEST_DIFF = 20_000
const LONGEST_DIFFS = 200_000
const DIFF_MS = 50

/** `read` null: without differences. */
export async function describeChanges(
  actions: readonly FileAction[],
  plan: PlanOnTree,
  read: ReadTarget | null,
): Promise<readonly FileChange[]> {
  const described = actions.map((action) => ({ action, change: describeChange(action, plan) }))
  if (read === null) return described.map(({ change }) => change)
  const held = await readAll(described.filter(isHeld).slice(0, MOST_FILES_READ), read)
  let shown = 0
  return described.map((entry) => {
    const { action, change } = entry
    if (change.change === 'chmod' || change.change === 'unchanged') return change
    const before = isHeld(entry) ? held.get(previousPathOf(action)) : null
    const diff = before === undefined || shown >= LONGEST_DIFFS ? TOO_MUCH : differenceOf(action, change, before)
    shown += diff?.length ?? 0
    return diff === null ? change : { ...change, diff }
  })
}

interface Described {
  readonly action: FileAction
  readonly change: FileChange
}

/** Is there something in the target to compare with? */
function isHeld({ change: { change } }: Described): boolean {
  return change === 'update' || change === 'delete' || change === 'move'
}

async function readAll(entries: readonly Described[], read: ReadTarget): Promise<ReadonlyMap<string, Buffer | null>> {
  const held = new Map<string, Buffer | null>()
  for (let start = 0; start < entries.length; start += READ_AT_ONCE) {
    const paths = entries.slice(start, start + READ_AT_ONCE).map(({ action }) => previousPathOf(action))
    const files = await Promise.all(paths.map(read))
    for (const [index, path] of paths.entries()) held.set(path, files[index]?.content ?? null)
  }
  return held
}

function describeChange(action: FileAction, plan: PlanOnTree): FileChange {
  const path = action.file_path
  const steps = plan.actions.filter(({ file_path }) => file_path === path).map((step) => step.action)
  const [first = 'unchanged'] = steps
  const mode = plan.expected.get(path)?.mode
  const content = contentOf(action)
  return {
    path,
    ...(action.action === 'move' ? { previous_path: action.previous_path } : {}),
    change: first,
    ...(content === null ? {} : { bytes: content.length }),
    ...(mode === undefined ? {} : { mode }),
  }
}

/** null: it leaves what is there. */
function contentOf(action: FileAction): Buffer | null {
  if (!('content' in action) || action.content === undefined) return null
  return action.encoding === 'base64' ? Buffer.from(action.content, 'base64') : Buffer.from(action.content)
}

const TOO_MUCH = '(too much to show)\n'

/** null: there is no difference in content. */
function differenceOf(action: FileAction, { change, path }: FileChange, before: Buffer | null): string | null {
  const after = change === 'delete' ? null : (contentOf(action) ?? before)
  if (before !== null && after !== null && before.equals(after)) return null
  const both = [before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)]
  if (both.some((bytes) => bytes.length > MOST_DIFFED_BYTES)) return TOO_MUCH
  if (both.some((bytes) => bytes.includes(0) || !isUtf8(bytes))) return '(binary files differ)\n'
  const names = [before === null ? '/dev/null' : previousPathOf(action), after === null ? '/dev/null' : path] as const
  const patch = createTwoFilesPatch(...names, `${both[0]}`, `${both[1]}`, undefined, undefined, { timeout: DIFF_MS })
  if (patch === undefined) return TOO_MUCH
  // The library's first lines are its own, and no other tool writes them.
  const text = patch.replace(/^(Index: .*\n)?=+\n/, '')
  return text.length > LONGEST_DIFF ? `${text.slice(0, LONGEST_DIFF)}\n(more is left out)\n` : text
}

function previousPathOf(action: FileAction): string {
  return action.action === 'move' ? action.previous_path : action.file_path
}
