/**
 * Hands the content of a submission to the threads that look into it (content-rules.ts), in pieces: the event loop gives a piece away
 * and is free, and submissions of several callers take turns. The time that threads may spend on one submission is limited; what
 * was not looked at to the end is refused.
 */

import { compilePatterns, type Matcher } from '../../../lib/glob.ts'
import { createThreadPool } from '../../../lib/thread-pool.ts'
import type { FileAction, MrSubmission } from '../schema.ts'
import { hasExtensionOf } from './binary-formats.ts'
import type { Limits, ProjectPolicy } from './config.ts'
import type { ContentQuestion, FileAllowance, FileContent } from './content-rules.ts'
import { touchedPaths } from './file-rules.ts'
import { finding, type InspectionFinding } from './rules.ts'

/** Characters of content that are given away at a time. */
const PIECE = 1_048_576
const MAX_WAITING = 500
const MAX_HEAP_MIB = 512

/** One for the process, whatever the number of inspectors. Nothing starts before the first question. */
const threads = createThreadPool<ContentQuestion, readonly InspectionFinding[]>(
  new URL('./content-thread.ts', import.meta.url),
  { maxThreads: 4, maxWaiting: MAX_WAITING, maxHeapMiB: MAX_HEAP_MIB },
)

export function closeContentThreads(): Promise<void> {
  return threads.close()
}

export type ContentInspection = (submission: MrSubmission) => Promise<readonly InspectionFinding[]>

export function compileContentInspection(policy: ProjectPolicy, limits: Limits): ContentInspection {
  const allowanceOf = compileAllowances(policy, limits)
  const { content_rules: contentRules } = policy
  return async (submission) => {
    const findings: InspectionFinding[] = []
    let leftMs = limits.inspection_budget
    let texts = textsOf(submission)
    for (const actions of piecesOf(submission.file_actions)) {
      const files = actions.map(({ index, action, content }): FileContent => {
        const sent = new TextEncoder().encode(content)
        return {
          pointer: `/file_actions/${index}/content`,
          sent,
          encoding: action.encoding,
          allows: allowanceOf(action.file_path),
        }
      })
      const transfer = files.map(({ sent }) => sent.buffer)
      const answer = await threads.run({ texts, files, contentRules }, { timeoutMs: Math.max(1, leftMs), transfer })
      if (answer.outcome !== 'answered') return [...findings, overBudget(answer.outcome, limits)]
      findings.push(...answer.answer)
      leftMs -= answer.tookMs
      texts = []
    }
    return findings
  }
}

function overBudget(outcome: 'timed_out' | 'crashed', { inspection_budget }: Limits): InspectionFinding {
  const why =
    outcome === 'timed_out'
      ? `that took more than ${inspection_budget / 1_000} seconds`
      : 'the thread that looked into it has failed'
  return finding('inspection_over_budget', '/file_actions', { why })
}

/** Whatever of a submission people will read, names of files and labels included. */
function textsOf(submission: MrSubmission): ContentQuestion['texts'] {
  const { title, description, commit_message, source_branch, labels, file_actions } = submission
  return [
    { pointer: '/title', text: title },
    { pointer: '/description', text: description },
    ...(commit_message === title ? [] : [{ pointer: '/commit_message', text: commit_message }]),
    { pointer: '/source_branch', text: source_branch },
    ...labels.map((text, index) => ({ pointer: `/labels/${index}`, text })),
    ...file_actions.flatMap((action, index) =>
      touchedPaths(action).map(({ key, path }) => ({ pointer: `/file_actions/${index}/${key}`, text: path })),
    ),
  ]
}

type ActionWithContent = Extract<FileAction, { readonly encoding: unknown }>

interface Piece {
  readonly index: number
  readonly action: ActionWithContent
  readonly content: string
}

/** At least one, for the texts. */
function* piecesOf(actions: readonly FileAction[]): Generator<readonly Piece[]> {
  let piece: Piece[] = []
  let size = 0
  for (const [index, action] of actions.entries()) {
    if (!('content' in action) || action.content === undefined) continue
    if (piece.length > 0 && size + action.content.length > PIECE) {
      yield piece
      piece = []
      size = 0
    }
    piece.push({ index, action, content: action.content })
    size += action.content.length
  }
  yield piece
}

function compileAllowances(policy: ProjectPolicy, limits: Limits): (path: string) => FileAllowance {
  const everywhere: Matcher = () => true
  const at = (paths: readonly string[] | undefined) =>
    paths === undefined ? everywhere : compilePatterns(paths, { nocase: false })
  const binary = policy.binary_files.map(({ format, paths, max_bytes: maxBytes = limits.max_file_bytes }) => ({
    allowed: { format, maxBytes },
    fits: at(paths),
  }))
  const mayHide = at(policy.hidden_characters_in)
  const secrets = policy.allow_secrets.map(({ rule, paths }) => ({ rule, fits: at(paths) }))
  const contentRules = policy.content_rules.map(({ paths }, index) => ({ index, fits: at(paths) }))
  return (path) => ({
    binary: binary
      .filter(({ allowed: { format }, fits }) => fits(path) && (format === 'any' || hasExtensionOf(format, path)))
      .map(({ allowed }) => allowed),
    lfsPointer: policy.lfs_pointers,
    hiddenCharacters: mayHide(path),
    secretRules: secrets.filter(({ fits }) => fits(path)).map(({ rule }) => rule),
    contentRules: contentRules.filter(({ fits }) => fits(path)).map(({ index }) => index),
  })
}
