/**
 * The body of `POST …/repository/commits`, read and refused in GitLab's words and order. Nothing here looks at the
 * repository.
 */
import { badRequest } from '../errors.ts'

export type ActionName = 'create' | 'update' | 'move' | 'delete' | 'chmod'

const ACTIONS: readonly string[] = ['create', 'update', 'move', 'delete', 'chmod']

export interface CommitAction {
  readonly action: ActionName
  readonly filePath: string
  readonly previousPath: string | null
  /** Null when the key is absent. */
  readonly content: string | null
  readonly encoding: 'text' | 'base64'
  readonly lastCommitId: string | null
  readonly executeFilemode: boolean | null
}

export interface CommitRequest {
  readonly branch: string
  readonly message: string
  readonly startBranch: string | null
  readonly startSha: string | null
  readonly force: boolean
  readonly authorName: string | null
  readonly authorEmail: string | null
  readonly stats: boolean
  readonly actions: readonly CommitAction[]
}

type Bag = Readonly<Record<string, unknown>>

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : null
}

function filled(value: unknown): string | null {
  const text = textOf(value)
  return text === null || text.trim() === '' ? null : text
}

function booleanOf(value: unknown): boolean | null {
  if (value === true || value === 'true' || value === 1 || value === '1') return true
  if (value === false || value === 'false' || value === 0 || value === '0') return false
  return null
}

function readAction(value: unknown, index: number): CommitAction {
  const bag: Bag = typeof value === 'object' && value !== null ? (value as Bag) : {}
  const refuse = (key: string, rest: string) => badRequest(`actions[${index}][${key}] ${rest}`)
  const action = filled(bag['action'])
  if (action === null) throw refuse('action', 'is required')
  if (!ACTIONS.includes(action))
    throw refuse('action', `must be one of: ${['create', 'update', 'move', 'delete', 'chmod'].join(', ')}`)
  const filePath = filled(bag['file_path'])
  if (filePath === null) throw refuse('file_path', 'is required')
  const encoding = textOf(bag['encoding']) ?? 'text'
  if (encoding !== 'text' && encoding !== 'base64') throw refuse('encoding', 'must be text or base64')
  const content = textOf(bag['content'])
  if (action === 'update' && content === null) throw refuse('content', 'is required for update action')
  const previousPath = filled(bag['previous_path'])
  if (action === 'move' && previousPath === null) throw refuse('previous_path', 'is required for move action')
  const mode = bag['execute_filemode'] ?? null
  const executeFilemode = booleanOf(mode)
  if (action === 'chmod' && mode === null) throw refuse('execute_filemode', 'is required for chmod action')
  if (mode !== null && executeFilemode === null) throw refuse('execute_filemode', 'must be a boolean')
  return {
    action: action as ActionName,
    filePath,
    previousPath,
    content,
    encoding,
    lastCommitId: filled(bag['last_commit_id']),
    executeFilemode,
  }
}

export function branchOf(bag: Bag): string | null {
  return filled(bag['branch'])
}

/** Throws ApiError 400 for the first thing that does not fit. */
export function readCommitRequest(bag: Bag): CommitRequest {
  const branch = branchOf(bag)
  if (branch === null) throw badRequest('branch is required')
  const message = filled(bag['commit_message'])
  if (message === null) throw badRequest('commit_message is required')
  // No commit can hold a NUL.
  if (message.includes('\0')) throw badRequest('commit_message is invalid')
  const actions = bag['actions']
  if (!Array.isArray(actions) || actions.length === 0) throw badRequest('actions is required')
  const startBranch = filled(bag['start_branch'])
  const startSha = filled(bag['start_sha'])
  if (startBranch !== null && startSha !== null) {
    throw badRequest('start_branch, start_sha are mutually exclusive')
  }
  return {
    branch,
    message,
    startBranch,
    startSha,
    force: booleanOf(bag['force']) ?? false,
    authorName: filled(bag['author_name']),
    authorEmail: filled(bag['author_email']),
    stats: booleanOf(bag['stats']) ?? true,
    actions: actions.map(readAction),
  }
}
