/**
 * The one door for text that leaves the service: titles, descriptions, notes, commit messages. GitLab runs quick actions
 * (`/merge`, `/approve`) that it finds at the start of a line, with the rights of the service's token, and deletes
 * carriage returns before it looks. So those go first, and a backslash then stands before every slash that begins a
 * line, in code blocks too, because GitLab and others disagree about what a code block is. Apply it last of all.
 */

/** Idempotent. Text without carriage returns and slashes at the start of a line comes back as it was. */
export function sanitizeText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('\r', '')
    .replace(/^([\s\p{Cf}\p{Cc}]*)\//gmu, '$1\\/')
}
