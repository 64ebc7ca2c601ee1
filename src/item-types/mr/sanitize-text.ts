/**
 * The one door for text that leaves the service: titles, descriptions, notes, commit messages. GitLab runs quick actions
 * (`/merge`, `/approve`) that it finds at the start of a line, with the rights of the service's token, and deletes
 * carriage returns before it looks. So those go first, and a backslash then stands before every slash that begins a
 * line, in code blocks too, because GitLab and others disagree about what a code block is. Apply it last of all.
 */

/**
 * Blanks and invisible characters up to the line's first slash. Line breaks are not among them: a run of empty lines would
 * be scanned anew from each of its lines, and a long one would hold the process for minutes.
 */
const BEGINS_WITH_SLASH = /^([[\s\p{Cf}\p{Cc}]--[\n\u2028\u2029]]*)\//gmv

/** Idempotent. Text without carriage returns and slashes at the start of a line comes back as it was. */
export function sanitizeText(text: string): string {
  return text.toWellFormed().replaceAll('\r', '').replace(BEGINS_WITH_SLASH, '$1\\/')
}
