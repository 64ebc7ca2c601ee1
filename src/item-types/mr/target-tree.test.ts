import { describe, expect, test } from 'vitest'
import type { GitLabTreeEntry } from '../../gitlab/port.ts'
import { openTree, readTargetTree } from './target-tree.ts'

/** A GitLab that holds these files and nothing else; `asked` tells what it was asked for. */
function holding(files: Readonly<Record<string, string>>) {
  const asked: string[] = []
  const listTree = async (_project: number, directory: string, ref: string): Promise<GitLabTreeEntry[]> => {
    asked.push(`${directory}@${ref}`)
    const prefix = directory === '' ? '' : `${directory}/`
    const found = new Map<string, GitLabTreeEntry>()
    for (const [path, mode] of Object.entries(files)) {
      if (!path.startsWith(prefix)) continue
      const [name, ...below] = path.slice(prefix.length).split('/')
      const entry = `${prefix}${name}`
      const isTree = below.length > 0
      found.set(entry, {
        path: entry,
        mode: isTree ? '040000' : mode,
        type: isTree ? 'tree' : mode === '160000' ? 'commit' : 'blob',
        id: 'a'.repeat(40),
      })
    }
    return [...found.values()]
  }
  return { listTree, asked }
}

const FILES = { 'README.md': '100644', 'src/a/b.ts': '100755', link: '120000', 'vendor/lib': '160000' }

describe('readTargetTree', () => {
  test.each<[string, string | null, string | null]>([
    ['README.md', '100644', null],
    ['src/a/b.ts', '100755', null],
    ['src/a', '040000', null],
    ['src/new.ts', null, null],
    ['src/a/new/deep/x.ts', null, null],
    ['entirely/new/x.ts', null, null],
    ['README.md/x', null, 'README.md'],
    ['link/x', null, 'link'],
    ['link/x/y', null, 'link'],
    ['vendor/lib/x', null, 'vendor/lib'],
  ])('finds at %s: %s, obstructed by %s', async (path, mode, obstacle) => {
    const { entries, obstructed } = await readTargetTree(openTree(holding(FILES), 1, 'sha', {}), [path])
    expect(entries.get(path)?.mode ?? null).toBe(mode)
    expect(obstructed.get(path)?.path ?? null).toBe(obstacle)
  })

  test('asks for each directory once, always at the same commit, and for none that is not there', async () => {
    const gitlab = holding(FILES)
    const tree = openTree(gitlab, 1, 'sha', {})
    await readTargetTree(tree, [
      'src/a/b.ts',
      'src/a/c.ts',
      'README.md',
      'src/a/new/x.ts',
      'entirely/new/x.ts',
      'link/x',
    ])
    await readTargetTree(tree, ['src/a/d.ts'])
    expect(gitlab.asked).toEqual(['@sha', 'src@sha', 'src/a@sha'])
  })
})
