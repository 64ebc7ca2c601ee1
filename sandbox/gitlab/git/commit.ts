/** A commit as stored, taken apart: people with their own time zones, message, trailers. */

export interface Person {
  readonly name: string
  readonly email: string
  /** ISO 8601 with the person's own offset and milliseconds. */
  readonly date: string
}

export interface Commit {
  readonly sha: string
  readonly tree: string
  readonly parents: readonly string[]
  readonly author: Person
  readonly committer: Person
  readonly title: string
  readonly message: string
  /** Trailers by key, in order; a key can come several times. */
  readonly trailers: readonly (readonly [string, string])[]
}

/** `1767225600 +0130` as `2026-01-01T01:30:00.000+01:30`. */
function isoDate(seconds: string, zone: string): string {
  const sign = zone.startsWith('-') ? -1 : 1
  const minutes = sign * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3, 5)))
  const local = new Date((Number(seconds) + minutes * 60) * 1000)
  return `${local.toISOString().slice(0, -1)}${zone.slice(0, 3)}:${zone.slice(3, 5)}`
}

function parsePerson(line: string): Person {
  const [, name = '', email = '', seconds = '0', zone = '+0000'] =
    /^(.*?) ?<([^>]*)> (\d+) ([+-]\d{4})$/.exec(line) ?? []
  return { name, email, date: isoDate(seconds, zone) }
}

const TRAILER = /^([A-Za-z0-9-]+)\s*:\s*(.*)$/

/** The lines `Key: value` of the last paragraph, if it holds nothing else; a value goes on in lines that begin with space. */
function parseTrailers(message: string): (readonly [string, string])[] {
  const paragraphs = message.trimEnd().split(/\n\s*\n/)
  const trailers: [string, string][] = []
  if (paragraphs.length < 2) return trailers
  for (const line of (paragraphs.at(-1) ?? '').split('\n')) {
    const last = trailers.at(-1)
    const [, key, value] = TRAILER.exec(line) ?? []
    if (key !== undefined && value !== undefined) trailers.push([key, value.trim()])
    else if (/^\s/.test(line) && last) last[1] = `${last[1]} ${line.trim()}`
    else return []
  }
  return trailers
}

export function parseCommit(sha: string, content: Buffer): Commit {
  const text = content.toString('utf8')
  const split = text.indexOf('\n\n')
  const head = split < 0 ? text : text.slice(0, split)
  const message = split < 0 ? '' : text.slice(split + 2)
  const values = (key: string) =>
    head
      .split('\n')
      .filter((line) => line.startsWith(`${key} `))
      .map((line) => line.slice(key.length + 1))
  return {
    sha,
    tree: values('tree')[0] ?? '',
    parents: values('parent'),
    author: parsePerson(values('author')[0] ?? ''),
    committer: parsePerson(values('committer')[0] ?? ''),
    title: message.trimStart().split('\n')[0] ?? '',
    message,
    trailers: parseTrailers(message),
  }
}
