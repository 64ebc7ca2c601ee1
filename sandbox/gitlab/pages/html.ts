/**
 * HTML that cannot be injected into: the `html` template escapes every value that is not itself the result of `html`, so
 * nothing from a repository, a title or a log reaches a page as markup. Pages carry no scripts at all.
 */

export interface Html {
  readonly html: string
}

type Value = Html | string | number | null | undefined | false | readonly Value[]

/** Puts values into markup; texts are escaped, lists joined, and null, undefined and false leave nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { html: strings.map((part, index) => part + (index < values.length ? render(values[index]) : '')).join('') }
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

function render(value: Value): string {
  if (value === null || value === undefined || value === false) return ''
  if (typeof value === 'string') return escapeHtml(value)
  if (typeof value === 'number') return String(value)
  if (isList(value)) return value.map(render).join('')
  return value.html
}

function isList(value: Html | readonly Value[]): value is readonly Value[] {
  return Array.isArray(value)
}
