/**
 * Looks for secrets in a text. One pass finds the keywords of all rules; only there is a pattern tried, anchored and on a window
 * of bounded length, so the cost is that of the pass plus a bounded one for each keyword.
 */
import { RE2JS } from 're2js'
import { lineAt } from './hidden-characters.ts'
import type { SecretRule } from './secret-rules.ts'

export interface SecretHit {
  readonly rule: SecretRule
  readonly line: number
}

/** Longer than the longest that has to be seen to know a secret. */
const WINDOW = 6_000
const DIGIT = /^\d$/
const WORD = /^\w$/

interface CompiledRule {
  readonly rule: SecretRule
  readonly pattern: RE2JS
  readonly except: RE2JS | null
}

/** The first hit of each rule. */
export function compileSecretScan(rules: readonly SecretRule[]): (text: string) => readonly SecretHit[] {
  const rulesOf = new Map<string, CompiledRule[]>()
  for (const rule of rules) {
    const except = rule.except === undefined ? null : RE2JS.compile(rule.except, RE2JS.DOTALL)
    const compiled = { rule, pattern: RE2JS.compile(rule.pattern), except }
    for (const keyword of rule.keywords) rulesOf.set(keyword, [...(rulesOf.get(keyword) ?? []), compiled])
  }
  const anyKeyword = new RegExp([...rulesOf.keys()].map(literal).join('|'), 'g')

  return (text) => {
    const hits = new Map<SecretRule, SecretHit>()
    anyKeyword.lastIndex = 0
    for (let found = anyKeyword.exec(text); found !== null; found = anyKeyword.exec(text)) {
      const { index } = found
      for (const compiled of rulesOf.get(found[0]) ?? []) {
        const { rule } = compiled
        if (!hits.has(rule) && isSecret(compiled, text, index)) hits.set(rule, { rule, line: lineAt(text, index) })
      }
      // Keywords may overlap.
      anyKeyword.lastIndex = index + 1
    }
    return [...hits.values()]
  }
}

function literal(keyword: string): string {
  return keyword.replace(/[^\w]/g, '\\$&')
}

function isSecret({ rule, pattern, except }: CompiledRule, text: string, index: number): boolean {
  const previous = text.charAt(index - 1)
  if (rule.before === 'digit' && !DIGIT.test(previous)) return false
  if (rule.before === undefined && WORD.test(previous)) return false
  const matcher = pattern.matcher(text.slice(index, index + WINDOW))
  if (!matcher.lookingAt()) return false
  return except === null || !except.matcher(matcher.group() ?? '').lookingAt()
}
