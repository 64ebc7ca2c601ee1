/**
 * Whether the claims of a verified token meet the conditions of a rule. All conditions must hold; a condition holds when
 * any of its values is any of the claim's. What cannot be compared without guessing has no value and matches nothing:
 * null, objects, nested lists, numbers that are no safe integer, texts beyond the caps. Facts only, no clock, no I/O.
 */

/** A rule's conditions by claim; each value as `comparable` makes it. */
export type ClaimConditions = Readonly<Record<string, readonly string[]>>

export const MAX_VALUE_LENGTH = 1_024
export const MAX_LIST_LENGTH = 256

/** The claims whose condition does not hold; none = the token matches. No condition at all matches nothing. */
export function unmetConditions(conditions: ClaimConditions, claims: unknown): readonly string[] {
  const wanted = Object.entries(conditions)
  if (wanted.length === 0) return ['']
  return wanted
    .filter(([claim, values]) => {
      const present = comparableValues(claimAt(claims, claim))
      return !values.some((value) => present.includes(value))
    })
    .map(([claim]) => claim)
}

/**
 * The one form in which a claim and a rule are compared: "42" and 42, "true" and true are the same. Only A to Z are
 * lower-cased: what Unicode makes of the Kelvin sign must not equal a k.
 */
export function comparable(value: unknown): string | null {
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null
  if (typeof value !== 'string' || value.length > MAX_VALUE_LENGTH || !value.isWellFormed()) return null
  return value.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

function comparableValues(claim: unknown): readonly string[] {
  const items: readonly unknown[] = Array.isArray(claim) ? claim : [claim]
  if (items.length > MAX_LIST_LENGTH) return []
  return items.map(comparable).filter((value): value is string => value !== null && value !== '')
}

/** A key that begins with `/` is a JSON pointer through objects; any other is the name of a claim, dots and all. */
export function claimAt(claims: unknown, key: string): unknown {
  return pointerSegments(key).reduce<unknown>(
    (value, segment) => (isObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined),
    claims,
  )
}

/** `/kubernetes.io/namespace` → two names; `project_path` → one. */
export function pointerSegments(key: string): readonly string[] {
  if (!key.startsWith('/')) return [key]
  return key
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
