/**
 * HTML as a tagged template: what is put in is escaped unless it is HTML made here already.
 */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Html | readonly Html[]

export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((string, index) => string + rendered(parts[index] ?? '')).join(''))
}

/** `a \`b\` c` with the part in backticks as code. */
export function prose(text: string): Html {
  return new Html(escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>'))
}

function rendered(part: Part): string {
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map((entry) => entry.text).join('')
  return escaped(String(part))
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
