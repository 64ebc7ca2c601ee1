/** Differences between two commits, as coloured text, one block a file. */
import type { Repository } from '../git/repository.ts'
import { type Html, html } from './html.ts'
import { empty, section } from './layout.ts'

const MAX_CHARACTERS = 400_000

/** The section with all files that differ between two commits; `from` null stands for nothing at all. */
export async function diffSection(repository: Repository, from: string | null, to: string): Promise<Html> {
  const range = from === null ? [EMPTY_TREE, to] : [from, to]
  const { code, stdout } = await repository.run(['diff', '--no-ext-diff', '--no-color', '--find-renames', ...range], {
    allow: [128],
  })
  if (code !== 0) return section('Changes', empty('The commits of this change are no longer in the repository.'))
  const text = stdout.toString('utf8')
  const shown = text.slice(0, MAX_CHARACTERS)
  const files = shown.split(/^(?=diff --git )/m).filter((block) => block !== '')
  if (files.length === 0) return section('Changes', empty('Nothing differs.'))
  const cut = text.length > shown.length && empty('The rest is too large to be shown.')
  return section(
    `Changes in ${files.length} ${files.length === 1 ? 'file' : 'files'}`,
    html`${files.map(fileDiff)}${cut}`,
  )
}

function fileDiff(block: string): Html {
  const lines = block.replace(/\n$/, '').split('\n')
  const hunksAt = lines.findIndex((line) => line.startsWith('@@'))
  const head = hunksAt === -1 ? lines : lines.slice(0, hunksAt)
  const hunks = hunksAt === -1 ? [] : lines.slice(hunksAt)
  const facts = head.filter((line) => /^(new file|deleted file|old mode|new mode|rename|similarity|Binary)/.test(line))
  const [first = ''] = head
  const path = pathOf(head) ?? first.replace(/^diff --git /, '')
  const added = hunks.filter((line) => line.startsWith('+')).length
  const removed = hunks.filter((line) => line.startsWith('-')).length
  return html`<div class="file"><div class="path">${path}
<span class="small good">+${added}</span> <span class="small bad">−${removed}</span></div>
<pre class="diff">${facts.map((fact) => html`<span class="meta">${fact}</span>`)}${hunks.map(
    (line) => html`<span class="${toneOf(line)}">${line === '' ? ' ' : line}</span>`,
  )}</pre></div>`
}

function pathOf(head: readonly string[]): string | undefined {
  const after = head.find((line) => line.startsWith('+++ b/'))?.slice('+++ b/'.length)
  const before = head.find((line) => line.startsWith('--- a/'))?.slice('--- a/'.length)
  return after ?? before ?? head.find((line) => line.startsWith('rename to '))?.slice('rename to '.length)
}

function toneOf(line: string): string {
  if (line.startsWith('@@')) return 'hunk'
  if (line.startsWith('+')) return 'add'
  if (line.startsWith('-')) return 'del'
  return line.startsWith('\\') ? 'meta' : ''
}

/** git's own name for a tree without entries. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
