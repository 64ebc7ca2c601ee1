/**
 * What the content of a file must not be, judged over all of its bytes: a binary where the project expects none, because nobody
 * can read what it does; a pointer to a file that lies elsewhere and was never inspected; characters that show a reader something
 * else than a program reads; secrets; what the project's own patterns say. The encoding that a caller chose says nothing about
 * any of it. This runs in a thread (content-thread.ts): it gets all it needs to know, and answers with findings.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { RE2JS } from 're2js'
import { type BinaryFormatName, hasMagicOf } from './binary-formats.ts'
import { lineAt, lineOfHidden } from './hidden-characters.ts'
import { finding, type InspectionFinding } from './rules.ts'
import { SECRET_RULES } from './secret-rules.ts'
import { compileSecretScan } from './secret-scan.ts'

export interface ContentQuestion {
  /** Title, description and what else is scanned for secrets only. */
  readonly texts: readonly { readonly pointer: string; readonly text: string }[]
  readonly files: readonly FileContent[]
  readonly contentRules: readonly ContentRule[]
}

export interface FileContent {
  readonly pointer: string
  /** The content as it was sent, in UTF-8. */
  readonly sent: Uint8Array<ArrayBuffer>
  readonly encoding: 'text' | 'base64'
  /** What the project allows at the file's path. */
  readonly allows: FileAllowance
}

export interface FileAllowance {
  /** Formats whose extension the path has. */
  readonly binary: readonly { readonly format: BinaryFormatName | 'any'; readonly maxBytes: number }[]
  readonly lfsPointer: boolean
  readonly hiddenCharacters: boolean
  readonly secretRules: readonly string[]
  /** Indices of the content rules that are for this path. */
  readonly contentRules: readonly number[]
}

export interface ContentRule {
  readonly code: string
  readonly pattern: string
  readonly message: string
}

const LFS_POINTER = /^version https:\/\/(?:git-lfs|hawser)\.github\.com\/spec\//

const scanForSecrets = compileSecretScan(SECRET_RULES)

export function judgeContent({ texts, files, contentRules }: ContentQuestion): readonly InspectionFinding[] {
  const compiled = contentRules.map((rule) => ({ ...rule, pattern: RE2JS.compile(rule.pattern) }))
  return [
    ...texts.flatMap(({ pointer, text }) => secretsIn(text, pointer, [])),
    ...files.flatMap((file) => judgeFile(file, compiled)),
  ]
}

function judgeFile(
  { pointer, sent, encoding, allows }: FileContent,
  contentRules: readonly (Omit<ContentRule, 'pattern'> & { readonly pattern: RE2JS })[],
): readonly InspectionFinding[] {
  const bytes = encoding === 'base64' ? decodeBase64(sent) : Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength)
  if (bytes === null) return [finding('not_base64', pointer)]
  const isBinary = bytes.includes(0) || !isUtf8(bytes)
  // One byte a letter is all that the patterns need, and the fastest to make.
  const text = isBinary || isAscii(bytes) ? bytes.toString('latin1') : bytes.toString()
  const findings: InspectionFinding[] = []
  if (isBinary) {
    const why = faultOfBinary(bytes, allows.binary)
    if (why !== null) findings.push(finding('binary_file', pointer, { why }))
  } else {
    if (!allows.lfsPointer && LFS_POINTER.test(text)) findings.push(finding('lfs_pointer', pointer))
    const line = allows.hiddenCharacters ? null : lineOfHidden(text)
    if (line !== null) findings.push(finding('hidden_characters', pointer, { line }))
  }
  findings.push(...secretsIn(text, pointer, allows.secretRules))
  for (const index of allows.contentRules) {
    const rule = contentRules[index]
    const matcher = rule?.pattern.matcher(text)
    if (rule === undefined || !matcher?.find()) continue
    const facts = { line: lineAt(text, matcher.start()), rule: rule.code, message: rule.message }
    findings.push(finding('content_refused', pointer, facts))
  }
  return findings
}

/** Node's decoder skips junk, blanks and whatever follows `=`; encoding again shows whether it did. */
function decodeBase64(sent: Uint8Array): Buffer | null {
  const text = Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength).toString('latin1')
  if (text.length % 4 !== 0) return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}

function faultOfBinary(bytes: Buffer, allowed: FileAllowance['binary']): string | null {
  if (allowed.length === 0) return 'this project lists no binary format for its path'
  const fitting = allowed.filter(({ format }) => format === 'any' || hasMagicOf(format, bytes))
  if (fitting.length === 0) return 'its first bytes are not those of its extension'
  if (fitting.some(({ maxBytes }) => bytes.length <= maxBytes)) return null
  return `has more than the ${Math.max(...fitting.map(({ maxBytes }) => maxBytes))} bytes that this project allows for its format`
}

/** Of the secret itself nothing leaves this function. */
function secretsIn(text: string, pointer: string, allowed: readonly string[]): readonly InspectionFinding[] {
  return scanForSecrets(text)
    .filter(({ rule }) => !allowed.includes(rule.id))
    .map(({ rule, line }) => finding('secret_found', pointer, { line, what: rule.what, rule: rule.id }))
}
