/**
 * What in a text GitLab acts on, beside quick actions: mentions notify people, closing words close issues on merge, comments in
 * HTML carry words that no reader sees, images tell who reads. Each is made harmless by a character without width behind
 * its beginning: it looks the same and is nothing but text, in code blocks and commit messages as well.
 */
import { z } from 'zod'

const answer = z.enum(['neutralise', 'refuse', 'allow']).prefault('neutralise')

/** What to do with each; `refuse` refuses it in submissions, and neutralises it in what is made of other sources. */
export const textPolicySchema = z.strictObject({
  mentions: answer,
  closing_words: answer,
  html: answer,
})

export type TextPolicy = z.infer<typeof textPolicySchema>

export const STRICT_TEXT: TextPolicy = { mentions: 'neutralise', closing_words: 'neutralise', html: 'neutralise' }

const BREAK = '\u200b'

/**
 * An `@` as GitLab reads it, in clear or as an entity, which is decoded first. Nothing that could follow is left out: a name may
 * begin with an entity or an escape, too. Letters and digits before it make an address of it; an underscore may be emphasis.
 */
const MENTION = /(?<![A-Za-z0-9])@(?=[^\s\u200b])|&(?:#0{0,5}64|#x0{0,4}40|commat);(?=[^\s\u200b])/gi
/** The beginning of a comment, declaration or instruction, of a tag that loads something, of an image in Markdown. */
const HTML =
  /<(?=[!?]|\/?(?:img|image|picture|source|video|audio|svg|object|embed|iframe|link|style|script)\b)|!(?=\[)/gi

const CLOSING_WORD = String.raw`\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)`
const REFERENCE = String.raw`:?\s+(?:issues?\s+)?(?:\S*#\d|https?:\/\/|GL-\d|\[(?:issue|work_item|epic):)`
const CLOSING = new RegExp(`${CLOSING_WORD}(?=${REFERENCE})`, 'gi')
/** Keys of Jira are in capitals, or every `fix utf-8` would be one. */
const CLOSING_KEY =
  /\b(?:[Cc]los(?:e[sd]?|ing)|[Ff]ix(?:e[sd]|ing)?|[Rr]esolv(?:e[sd]?|ing)|[Ii]mplement(?:s|ed|ing)?|CLOSE[SD]?|FIX(?:E[SD])?|RESOLVE[SD]?|IMPLEMENT(?:S|ED)?)(?=:?\s+(?:issues?\s+)?[A-Z][A-Z0-9_]+-\d)/g

const PATTERNS = { mentions: [MENTION], closing_words: [CLOSING, CLOSING_KEY], html: [HTML] } as const

type ActiveKind = keyof TextPolicy

export const ACTIVE_KINDS = Object.keys(PATTERNS) as readonly ActiveKind[]

export function holdsActive(kind: ActiveKind, text: string): boolean {
  return PATTERNS[kind].some((pattern) => text.search(pattern) !== -1)
}

/** Idempotent and linear: each piece of the text is looked at a bounded number of times. */
export function neutralise(text: string, policy: TextPolicy): string {
  let safe = text
  for (const kind of ACTIVE_KINDS) {
    if (policy[kind] === 'allow') continue
    for (const pattern of PATTERNS[kind]) safe = safe.replace(pattern, `$&${BREAK}`)
  }
  return safe
}
