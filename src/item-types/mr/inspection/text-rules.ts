/**
 * What a title, a description and a commit message must not say, because machines act on it: skip the pipeline that
 * proves a change, sign in somebody's name, or pass for the service's own mark. Quick actions are not refused here; every
 * text that leaves is sanitised instead.
 */
import type { Finding } from '../../../lib/finding.ts'
import type { MrSubmission } from '../schema.ts'

const CONTROL_IN_LINE = /[\p{Cc}\p{Zl}\p{Zp}]/u
/**
 * Line breaks and tabs are text. A carriage return is only half of a line break: alone it would be taken out on the way
 * to GitLab, and what stands on its two sides would become a word that these rules have not seen.
 */
const CONTROL_IN_TEXT = /[^\P{Cc}\n\r\t]|\r(?!\n)/u
/** They make text read in another order than it is executed. */
const BIDI = /[\u202a-\u202e\u2066-\u2069]/
const SKIP_CI = /\[(ci[ _-]skip|skip[ _-]ci|no[ _-]ci)\]/i
const DRAFT = /^\s*(draft:|\[draft\]|\(draft\)|wip:|\[wip\])/i
const RESERVED_TRAILER =
  /^[^\S\n\r\u2028\u2029]*(workqueue-[\w-]+|signed-off-by|co-authored-by|reviewed-by|approved-by|acked-by|tested-by|changelog)\s*:/im

type TextField = 'title' | 'description' | 'commit_message'

/** GitLab keeps a merge request with such a title from being merged. */
export function isDraftTitle(title: string): boolean {
  return DRAFT.test(title)
}

export function inspectText(submission: MrSubmission): readonly Finding[] {
  const findings: Finding[] = []
  const add = (code: string, field: TextField, message: string) => {
    findings.push({ code, path: `/${field}`, message })
  }
  const { title, auto_merge } = submission
  for (const field of ['title', 'description', 'commit_message'] as const) {
    const text = submission[field]
    if ((field === 'title' ? CONTROL_IN_LINE : CONTROL_IN_TEXT).test(text)) {
      add('control_characters', field, `The ${field} holds control characters; take them out.`)
    }
    if (BIDI.test(text)) {
      add('hidden_characters', field, `The ${field} holds characters that change the order of reading; take them out.`)
    }
    if (field !== 'title' && text !== '' && text.trim() === '') {
      add('blank_text', field, `The ${field} is blank; write something or leave it out.`)
    }
    if (field !== 'description' && SKIP_CI.test(text)) {
      add('skip_ci', field, `The ${field} asks to skip the pipeline, which has to prove the change; take that out.`)
    }
  }
  if (title.trim() === '') add('blank_text', 'title', 'The title is blank; say what the change does.')
  if (auto_merge && DRAFT.test(title)) {
    add('draft_never_merges', 'title', 'A draft is never merged; take the draft mark out or send auto_merge false.')
  }
  if (RESERVED_TRAILER.test(submission.commit_message)) {
    add(
      'reserved_trailer',
      'commit_message',
      'The commit message holds a trailer that only people or the service may set (Signed-off-by, Workqueue-Item, …); take it out.',
    )
  }
  return findings
}
