/**
 * What a title, a description and a commit message must not say, because machines act on it: skip the pipeline that
 * proves a change, sign in somebody's name, or pass for the service's own mark. Quick actions are not refused here, nor what the
 * project has made harmless; every text that leaves is sanitised instead.
 */
import type { MrSubmission } from '../schema.ts'
import { ACTIVE_KINDS, holdsActive, neutralise } from './active-text.ts'
import type { ProjectPolicy } from './config.ts'
import { lineOfHidden } from './hidden-characters.ts'
import { finding, type InspectionFinding } from './rules.ts'

const CONTROL_IN_LINE = /[\p{Cc}\p{Zl}\p{Zp}]/u
/**
 * Line breaks and tabs are text. A carriage return is only half of a line break: alone it would be taken out on the way
 * to GitLab, and what stands on its two sides would become a word that these rules have not seen.
 */
const CONTROL_IN_TEXT = /[^\P{Cc}\n\r\t]|\r(?!\n)/u
const SKIP_CI = /\[(ci[ _-]skip|skip[ _-]ci|no[ _-]ci)\]/i
const DRAFT = /^\s*(draft:|\[draft\]|\(draft\)|wip:|\[wip\])/i
const RESERVED_TRAILER =
  /^[^\S\n\r\u2028\u2029]*(workqueue-[\w-]+|signed-off-by|co-authored-by|reviewed-by|approved-by|acked-by|tested-by|changelog)\s*:/im
/** GitLab's limit, in characters. */
const MAX_TITLE = 255

const REFUSED = { mentions: 'mention_refused', closing_words: 'closing_word_refused', html: 'html_refused' } as const
const NAMES = { title: 'title', description: 'description', commit_message: 'commit message' } as const
const FIELDS = Object.keys(NAMES) as readonly (keyof typeof NAMES)[]

/** GitLab keeps a merge request with such a title from being merged. */
export function isDraftTitle(title: string): boolean {
  return DRAFT.test(title)
}

export function compileTextRules({ text: policy }: ProjectPolicy) {
  const refused = ACTIVE_KINDS.filter((kind) => policy[kind] === 'refuse')
  return (submission: MrSubmission): readonly InspectionFinding[] => {
    const findings = FIELDS.flatMap((field) => [
      ...judgeField(field, submission[field]),
      ...refused
        .filter((kind) => holdsActive(kind, submission[field]))
        .map((kind) => finding(REFUSED[kind], `/${field}`, { field: NAMES[field] })),
    ])
    const { title, auto_merge, commit_message } = submission
    // One more for the backslash before a slash at its beginning.
    const length = [...neutralise(title, policy)].length + (title.trimStart().startsWith('/') ? 1 : 0)
    if (length > MAX_TITLE) findings.push(finding('title_too_long', '/title', { length, limit: MAX_TITLE }))
    if (auto_merge && DRAFT.test(title)) findings.push(finding('draft_never_merges', '/title'))
    if (RESERVED_TRAILER.test(commit_message)) findings.push(finding('reserved_trailer', '/commit_message'))
    return findings
  }
}

function judgeField(field: keyof typeof NAMES, text: string): readonly InspectionFinding[] {
  const [pointer, facts] = [`/${field}`, { field: NAMES[field] }]
  const findings: InspectionFinding[] = []
  const holdsControl = (field === 'title' ? CONTROL_IN_LINE : CONTROL_IN_TEXT).test(text)
  if (holdsControl) findings.push(finding('control_characters', pointer, facts))
  const line = holdsControl ? null : lineOfHidden(text)
  if (line !== null) findings.push(finding('hidden_characters', pointer, { line }))
  if (text.trim() === '' && (field === 'title' || text !== '')) findings.push(finding('blank_text', pointer, facts))
  if (field !== 'description' && SKIP_CI.test(text)) findings.push(finding('skip_ci', pointer, facts))
  return findings
}
