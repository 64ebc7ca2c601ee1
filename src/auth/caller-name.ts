/**
 * What a caller is called where names are stored and shown: `token:{rule}`, `jwt:{issuer's alias}:{sub}`,
 * `k8s:{namespace}:{service account}`, `openshift:{user}`. The kind comes first and neither it nor an alias holds a colon,
 * so nobody of one kind or issuer can be named like somebody of another. Everything but plain ASCII is percent-encoded,
 * which keeps names apart that look alike and lets a name stand in a log line, a header or a commit as it is.
 */
export type CallerKind = 'token' | 'jwt' | 'k8s' | 'openshift'

const MAX_LENGTH = 512

/** null: the text names nobody who could be told from others. The last part is verbatim; only it may hold a colon. */
export function callerName(kind: CallerKind, ...parts: readonly string[]): string | null {
  if (parts.some((part) => part === '' || !part.isWellFormed() || /\p{Cc}/u.test(part))) return null
  if (parts.slice(0, -1).some((part) => part.includes(':'))) return null
  const name = [kind, ...parts.map(encode)].join(':')
  return name.length > MAX_LENGTH ? null : name
}

function encode(part: string): string {
  return part.replaceAll(/[^A-Za-z0-9._~:/@+=,-]/gu, (character) =>
    Buffer.from(character).reduce((text, byte) => `${text}%${byte.toString(16).toUpperCase().padStart(2, '0')}`, ''),
  )
}
