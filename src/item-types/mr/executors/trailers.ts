/**
 * The mark that every commit of the service ends with: which item it belongs to, what it carries, and whose commit it was
 * written over, if any. A commit whose answer was lost is found again by it. A caller cannot set it, because the inspection
 * refuses commit messages that hold such trailers.
 */
import type { TextPolicy } from '../inspection/active-text.ts'
import { sanitizeText } from '../sanitize-text.ts'

export interface Mark {
  readonly itemId: string
  /** See identity.ts, commitHashOf. */
  readonly commitHash: string
  /** The head of somebody else that the commit was forced over. */
  readonly overwrote?: string
}

/** The message of the commit: the caller's words made harmless, then the mark. */
export function markedMessage(message: string, { itemId, commitHash, overwrote }: Mark, policy?: TextPolicy): string {
  const trailers = [`Workqueue-Item: ${itemId}`, `Workqueue-Content: ${commitHash}`]
  if (overwrote !== undefined) trailers.push(`Workqueue-Overwrote: ${overwrote}`)
  return `${sanitizeText(message, policy).trimEnd()}\n\n${trailers.join('\n')}\n`
}

const MARK =
  /\n\nWorkqueue-Item: (\S+)\nWorkqueue-Content: ([0-9a-f]{64})(?:\nWorkqueue-Overwrote: ([0-9a-f]{40,64}))?\n?$/

/** The mark at the end of a commit's message; null when there is none. */
export function readMark(message: string): Mark | null {
  const [, itemId, commitHash, overwrote] = MARK.exec(message) ?? []
  if (itemId === undefined || commitHash === undefined) return null
  return { itemId, commitHash, ...(overwrote === undefined ? {} : { overwrote }) }
}
