/**
 * The service's mark on its commits: which item wrote it, and what it carries. A commit whose answer was lost is found
 * again by it. A caller cannot set it, because the inspection refuses commit messages that hold such trailers.
 */
import { sanitizeText } from '../sanitize-text.ts'

export interface Mark {
  readonly itemId: string
  /** See identity.ts, commitHashOf. */
  readonly commitHash: string
}

/** The message of the commit: the caller's words made harmless, then the mark. */
export function markedMessage(message: string, { itemId, commitHash }: Mark): string {
  return `${sanitizeText(message).trimEnd()}\n\nWorkqueue-Item: ${itemId}\nWorkqueue-Content: ${commitHash}\n`
}

/** Does the message end with exactly this mark? */
export function carriesMark(message: string, mark: Mark): boolean {
  const lines = message.trimEnd().split('\n').slice(-2)
  return lines[0] === `Workqueue-Item: ${mark.itemId}` && lines[1] === `Workqueue-Content: ${mark.commitHash}`
}
