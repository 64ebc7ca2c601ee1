/**
 * What a submission does to files, whichever way it was found out: first the changes with their sizes, then, once they are
 * known to be few enough, the file actions with their contents. Bytes that are UTF-8 travel as text, all others as base64.
 */
import { isUtf8 } from 'node:buffer'
import { WorkQueueError } from '../../lib/errors.ts'

/** Added and changed files are `upsert`, so that the submission holds for a target that has moved on as well. */
export type FileChange =
  | (WithContent & { readonly action: 'upsert'; readonly file_path: string; readonly execute_filemode?: boolean })
  | { readonly action: 'delete'; readonly file_path: string }
  | { readonly action: 'chmod'; readonly file_path: string; readonly execute_filemode: boolean }
  | Move
  | (WithContent & Move)

interface Move {
  readonly action: 'move'
  readonly file_path: string
  readonly previous_path: string
}

interface WithContent {
  readonly bytes: number
  /** Where its content is; means something only to whoever found the change. */
  readonly source: string
}

export type FileAction = Readonly<Record<string, string | boolean>>

export function toFileAction(change: FileChange, contents: ReadonlyMap<string, Buffer>): FileAction {
  if (!('source' in change)) return { ...change }
  const { bytes: _, source, ...action } = change
  const content = contents.get(source)
  if (content === undefined) throw new Error(`the content of ${change.file_path} was not read`)
  // The service refuses NUL in text, as its database does.
  const isText = isUtf8(content) && !content.includes(0)
  return isText
    ? { ...action, content: content.toString('utf8') }
    : { ...action, content: content.toString('base64'), encoding: 'base64' }
}

const MAX_NAMED = 20

/** Changes that no submission can carry; all of them at once, each with its path. */
export function unsupported(faults: readonly string[]): WorkQueueError {
  return new WorkQueueError('input_unsupported', `The service cannot carry this change:${asLines(faults)}`)
}

/** The end of a message: each on a line of its own, but not without end. */
export function asLines(parts: readonly string[]): string {
  const more = parts.length - MAX_NAMED
  return [...parts.slice(0, MAX_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].map((part) => `\n  ${part}`).join('')
}

/** A path in a sentence: in quotes, with everything escaped that a terminal would not show. */
export function quoted(path: string): string {
  return JSON.stringify(path).replace(
    /[^\P{C} ]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** A name that is not UTF-8 has no spelling in JSON; it is shown byte by byte. */
export function pathOf(name: Buffer): { readonly path: string; readonly fault: string | null } {
  const path = name.toString('utf8')
  return isUtf8(name)
    ? { path, fault: null }
    : { path, fault: `${quoted(name.toString('latin1'))} has a name that is not UTF-8` }
}

/** Every path that is a file before or afterwards, and a directory before or afterwards. */
export function fileAndDirectory(changes: readonly FileChange[]): readonly string[] {
  const touched = new Set(
    changes.flatMap((change) =>
      change.action === 'move' ? [change.file_path, change.previous_path] : [change.file_path],
    ),
  )
  const both = new Set([...touched].flatMap((path) => parentsOf(path).filter((directory) => touched.has(directory))))
  return [...both].map(
    (path) => `${quoted(path)} is a file on one side and a directory on the other; do it in two merge requests`,
  )
}

function parentsOf(path: string): readonly string[] {
  const segments = path.split('/').slice(0, -1)
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'))
}
