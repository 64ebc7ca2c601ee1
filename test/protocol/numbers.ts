/** Equal values get equal numbers, so that states can be told apart quickly. Values must not change once they have one. */
const byValue = new WeakMap<object, number>()
const byText = new Map<string, number>()

export function numberOf(value: object): number {
  const known = byValue.get(value)
  if (known !== undefined) return known
  const text = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
  const number = byText.get(text) ?? byText.size
  byText.set(text, number)
  byValue.set(value, number)
  return number
}
