/**
 * The one door for text that leaves the service: titles, descriptions, notes, commit messages. GitLab runs quick actions
 * (`/merge`, `/approve`) that it finds at the start of a line, with the rights of the service's token, and deletes
 * carriage returns before it looks. So those go first; then mentions, closing words and HTML are made harmless as the project
 * says (inspection/active-text.ts); and a backslash stands before every slash that begins a line, in code blocks too,
 * because GitLab and others disagree about what a code block is. Apply it last of all.
 */
import { neutralise, STRICT_TEXT, type TextPolicy } from './inspection/active-text.ts'

/**
 * Blanks and invisible characters up to the line's first slash. Line breaks are not among them: a run of empty lines would
 * be scanned anew from each of its lines, and a long one would hold the process for minutes.
 */
const BEGINS_WITH_SLASH = /^([[\s\p{Cf}\p{Cc}]--[\n\u2028\u2029]]*)\//gmv

/** Idempotent. Text that nobody acts on comes back as it was. */
export function sanitizeText(text: string, policy: TextPolicy = STRICT_TEXT): string {
  const plain = text.toWellFormed().replaceAll('\r', '')
  return neutralise(plain, policy).replace(BEGINS_WITH_SLASH, '$1\\/')
}
