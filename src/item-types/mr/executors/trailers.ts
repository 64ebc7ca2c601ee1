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

/** The mark at the end of a commit's message; null when there is none. */
export function readMark(message: string): Mark | null {
  const match = /\n\nWorkqueue-Item: (\S+)\nWorkqueue-Content: ([0-9a-f]{64})\n?$/.exec(message)
  const [, itemId, commitHash] = match ?? []
  return itemId === undefined || commitHash === undefined ? null : { itemId, commitHash }
}
