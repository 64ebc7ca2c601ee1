/**
 * Whether the file actions of one submission fit together and keep to the limits: sizes decoded, and no two actions on one
 * path, where their order would decide what is committed.
 */
import type { FileAction, MrSubmission } from '../schema.ts'
import type { Limits } from './config.ts'
import type { PathFault, PathRules } from './path-rules.ts'
import { foldPath } from './path-spelling.ts'
import { finding, type InspectionFinding } from './rules.ts'

type SizeLimits = Omit<Limits, 'inspection_budget'>

export type FileRules = (submission: MrSubmission) => readonly InspectionFinding[]

export function compileFileRules(paths: PathRules, limits: SizeLimits): FileRules {
  return ({ file_actions: actions }) => {
    if (actions.length > limits.max_actions) {
      return [finding('too_many_actions', '/file_actions', { count: actions.length, limit: limits.max_actions })]
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

function judgePaths(actions: readonly FileAction[], paths: PathRules): readonly InspectionFinding[] {
  const findings: InspectionFinding[] = []
  for (const { path, pointer } of placesOf(actions)) {
    const fault = paths.judge(path)
    if (fault !== null) findings.push(describe(fault, path, pointer))
  }
  return findings
}

function describe(fault: PathFault, path: string, pointer: string): InspectionFinding {
  const facts = { path: quote(path) }
  return 'why' in fault
    ? finding(fault.code, pointer, { ...facts, why: fault.why })
    : finding(fault.code, pointer, facts)
}

function findConflicts(actions: readonly FileAction[]): readonly InspectionFinding[] {
  const findings: InspectionFinding[] = []
  const places = [...placesOf(actions)].map((place) => ({ ...place, folded: foldPath(place.path) }))
  const seen = new Map<string, string>()
  for (const { path, pointer, folded } of places) {
    const other = seen.get(folded)
    if (other === undefined) seen.set(folded, pointer)
    else findings.push(finding('path_twice', pointer, { path: quote(path), other }))
  }
  for (const { path, pointer, folded } of places) {
    const parent = parentsOf(folded).find((directory) => seen.has(directory))
    if (parent === undefined) continue
    const other = seen.get(parent) ?? ''
    findings.push(finding('file_is_directory', pointer, { path: quote(path), parent: quote(parent), other }))
  }
  return findings
}

/** `a/b/c` → `a`, `a/b`. */
export function parentsOf(path: string): readonly string[] {
  const segments = path.split('/').slice(0, -1)
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'))
}

/** Of base64 only the length is looked at: nothing is decoded before it is known to be small enough. */
function measure(actions: readonly FileAction[], limits: SizeLimits): readonly InspectionFinding[] {
  const findings: InspectionFinding[] = []
  let total = 0
  for (const [index, action] of actions.entries()) {
    if (!('content' in action) || action.content === undefined) continue
    const bytes = Buffer.byteLength(action.content, action.encoding === 'base64' ? 'base64' : 'utf8')
    total += bytes
    if (bytes <= limits.max_file_bytes) continue
    const facts = { path: quote(action.file_path), bytes, limit: limits.max_file_bytes }
    findings.push(finding('file_too_large', `/file_actions/${index}/content`, facts))
  }
  if (total > limits.max_total_bytes) {
    findings.push(finding('submission_too_large', '/file_actions', { bytes: total, limit: limits.max_total_bytes }))
  }
  return findings
}

/** A path may hold anything here, and is not canonical yet: shown short, with what is invisible escaped. */
function quote(path: string): string {
  const text = JSON.stringify(path.slice(0, 100).toWellFormed())
  return text.replace(/[^\x20-\x7e]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}
