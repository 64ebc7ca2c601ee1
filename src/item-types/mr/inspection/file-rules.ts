/**
 * Whether the file actions of one submission fit together and keep to the limits: sizes decoded, base64 in its one
 * spelling, and no two actions on one path, where their order would decide what is committed.
 */
import type { Finding } from '../../../lib/finding.ts'
import type { FileAction, MrSubmission } from '../schema.ts'
import type { PathRules } from './path-rules.ts'
import type { Limits } from './policy.ts'

export type FileRules = (submission: MrSubmission) => readonly Finding[]

export function compileFileRules(paths: PathRules, limits: Limits): FileRules {
  return ({ file_actions: actions }) => {
    if (actions.length > limits.max_actions) {
      const message = `The submission has ${actions.length} file actions, at most ${limits.max_actions} are allowed; split it.`
      return [{ code: 'too_many_actions', path: '/file_actions', message }]
    }
    return [...judgePaths(actions, paths), ...findConflicts(actions), ...measure(actions, limits)]
  }
}

/** Every path that an action touches, with the key it stands under: both ends of a move. */
export function touchedPaths(action: FileAction): readonly { readonly key: string; readonly path: string }[] {
  const own = { key: 'file_path', path: action.file_path }
  return action.action === 'move' ? [own, { key: 'previous_path', path: action.previous_path }] : [own]
}

function* placesOf(actions: readonly FileAction[]) {
  for (const [index, action] of actions.entries()) {
    for (const { key, path } of touchedPaths(action)) yield { path, pointer: `/file_actions/${index}/${key}` }
  }
}

function judgePaths(actions: readonly FileAction[], paths: PathRules): readonly Finding[] {
  const findings: Finding[] = []
  for (const { path, pointer } of placesOf(actions)) {
    const fault = paths.judge(path)
    if (fault !== null) {
      findings.push({ code: fault.code, path: pointer, message: `The path ${quote(path)} ${fault.message}.` })
    }
  }
  return findings
}

function findConflicts(actions: readonly FileAction[]): readonly Finding[] {
  const findings: Finding[] = []
  const seen = new Map<string, string>()
  for (const { path, pointer } of placesOf(actions)) {
    const folded = path.toLowerCase()
    const first = seen.get(folded)
    if (first === undefined) {
      seen.set(folded, pointer)
      continue
    }
    const message = `The path ${quote(path)} is named twice (also at ${first}); one action a path, ignoring case.`
    findings.push({ code: 'path_twice', path: pointer, message })
  }
  for (const { path, pointer } of placesOf(actions)) {
    const parent = parentsOf(path.toLowerCase()).find((directory) => seen.has(directory))
    if (parent === undefined) continue
    const message = `The path ${quote(path)} lies in ${quote(parent)}, which the submission names as a file (at ${seen.get(parent)}).`
    findings.push({ code: 'file_is_directory', path: pointer, message })
  }
  return findings
}

/** `a/b/c` → `a`, `a/b`. */
export function parentsOf(path: string): readonly string[] {
  const segments = path.split('/').slice(0, -1)
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'))
}

function measure(actions: readonly FileAction[], limits: Limits): readonly Finding[] {
  const findings: Finding[] = []
  let total = 0
  for (const [index, action] of actions.entries()) {
    if (!('content' in action) || action.content === undefined) continue
    const pointer = `/file_actions/${index}/content`
    const bytes = decodedBytes(action.content, action.encoding)
    total += bytes
    if (bytes > limits.max_file_bytes) {
      const message = `The file ${quote(action.file_path)} has ${bytes} bytes, at most ${limits.max_file_bytes} are allowed.`
      findings.push({ code: 'file_too_large', path: pointer, message })
    } else if (action.encoding === 'base64' && !isCanonicalBase64(action.content)) {
      const message = `The content of ${quote(action.file_path)} is not base64 in its standard form (A-Z a-z 0-9 + /, padded with =).`
      findings.push({ code: 'not_base64', path: pointer, message })
    }
  }
  if (total > limits.max_total_bytes) {
    const message = `The files have ${total} bytes together, at most ${limits.max_total_bytes} are allowed; split the submission.`
    findings.push({ code: 'submission_too_large', path: '/file_actions', message })
  }
  return findings
}

/** Of base64 an upper bound by its length, so that nothing large is decoded before it is known to be small. */
function decodedBytes(content: string, encoding: 'text' | 'base64'): number {
  return encoding === 'text' ? Buffer.byteLength(content) : Math.floor((content.length * 3) / 4) - paddingOf(content)
}

function paddingOf(content: string): number {
  if (content.endsWith('==')) return 2
  return content.endsWith('=') ? 1 : 0
}

/** Node's decoder skips junk, blanks and whatever follows `=`; encoding again shows whether it did. */
function isCanonicalBase64(content: string): boolean {
  return content.length % 4 === 0 && Buffer.from(content, 'base64').toString('base64') === content
}

/** A path may hold anything here, and is not canonical yet: shown short, with what is invisible escaped. */
function quote(path: string): string {
  const text = JSON.stringify(path.slice(0, 100).toWellFormed())
  return text.replace(/[^\x20-\x7e]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}
