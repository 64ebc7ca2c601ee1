import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { GitLabTreeEntry } from '../../../gitlab/port.ts'
import { planFiles } from '../file-plan.ts'
import { touchedPaths } from '../inspection/file-rules.ts'
import type { FileAction } from '../schema.ts'
import { openTree, readTargetTree } from '../target-tree.ts'
import { holdsExactly } from './verify-commit.ts'

const [BASE, SHA] = ['b'.repeat(40), 'c'.repeat(40)]

interface Leaf {
  readonly text: string
  readonly mode: string
}
/** Files by path; what is no file has another mode. */
type Files = Readonly<Record<string, Leaf>>

const leaf = (text: string, mode = '100644'): Leaf => ({ text, mode })
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex')
const typeOf = (mode: string) => (mode === '160000' ? 'commit' : 'blob')

/** What GitLab lists: directories are named by all that is in them. */
function list(files: Files, directory: string): readonly GitLabTreeEntry[] {
  const prefix = directory === '' ? '' : `${directory}/`
  const inside = Object.entries(files).filter(([path]) => path.startsWith(prefix))
  const names = new Set(inside.map(([path]) => path.slice(prefix.length).split('/')[0] ?? ''))
  return [...names].map((name): GitLabTreeEntry => {
    const path = `${prefix}${name}`
    const own = files[path]
    if (own === undefined) return { path, type: 'tree', mode: '040000', id: sha1(JSON.stringify(list(files, path))) }
    return { path, type: typeOf(own.mode), mode: own.mode, id: sha1(`blob ${own.text.length}\0${own.text}`) }
  })
}

const gitlabOf = (trees: Readonly<Record<string, Files>>) => ({
  listTree: async (_project: number, directory: string, ref: string) => list(trees[ref] ?? {}, directory),
  getCommit: async (_project: number, sha: string) => (trees[sha] === undefined ? null : { sha, parentShas: [BASE] }),
})

async function holds(actions: readonly FileAction[], before: Files, after: Files | null, parents = [BASE]) {
  const gitlab = gitlabOf({ [BASE]: before, ...(after === null ? {} : { [SHA]: after }) })
  const paths = actions.flatMap(touchedPaths).map(({ path }) => path)
  const tree = openTree(gitlab, 1, BASE, {})
  const plan = planFiles(actions, await readTargetTree(tree, paths))
  expect(plan.findings).toEqual([])
  return holdsExactly(gitlab, 1, { sha: SHA, parentShas: parents }, { ...plan, tree }, {})
}

const write = (file_path: string, content: string): FileAction => ({
  action: 'upsert',
  file_path,
  content,
  encoding: 'text',
})
const remove = (file_path: string): FileAction => ({ action: 'delete', file_path })

const BEFORE: Files = { 'a/b/one': leaf('1'), 'a/two': leaf('2'), 'x/y/z': leaf('3'), top: leaf('4') }

describe('a commit', () => {
  test.each<[string, readonly FileAction[], Files]>([
    ['of a new file', [write('n', 'x')], { ...BEFORE, n: leaf('x') }],
    ['of a new file in new directories', [write('p/q/r', 'x')], { ...BEFORE, 'p/q/r': leaf('x') }],
    ['of another content', [write('a/b/one', 'x')], { ...BEFORE, 'a/b/one': leaf('x') }],
    ['of text that Git stores with line feeds', [write('n', 'a\r\nb')], { ...BEFORE, n: leaf('a\nb') }],
    ['that takes a directory along', [remove('x/y/z')], { 'a/b/one': leaf('1'), 'a/two': leaf('2'), top: leaf('4') }],
  ])('%s holds what was inspected', async (_title, actions, after) => {
    expect(await holds(actions, BEFORE, after)).toBe(true)
  })

  test.each<[string, readonly FileAction[], Files]>([
    ['another content than was sent', [write('n', 'x')], { ...BEFORE, n: leaf('y') }],
    ['another mode', [write('n', 'x')], { ...BEFORE, n: leaf('x', '100755') }],
    ['a symbolic link in its place', [write('n', 'x')], { ...BEFORE, n: leaf('x', '120000') }],
    ['nothing', [write('n', 'x')], BEFORE],
    ['a file that should be gone', [remove('top')], BEFORE],
    ['a directory in its place', [write('n', 'x')], { ...BEFORE, 'n/x': leaf('x') }],
    [
      'a link where the last file of a directory was',
      [remove('x/y/z')],
      { 'a/b/one': leaf('1'), 'a/two': leaf('2'), top: leaf('4'), x: leaf('/etc', '120000') },
    ],
    [
      'a submodule where the last file of a directory was',
      [remove('x/y/z')],
      { 'a/b/one': leaf('1'), 'a/two': leaf('2'), top: leaf('4'), 'x/y': leaf('s', '160000') },
    ],
  ])('that holds %s is told', async (_title, actions, after) => {
    expect(await holds(actions, BEFORE, after)).toBe(false)
  })

  test('on other parents is told', async () => {
    const after = { ...BEFORE, n: leaf('x') }
    expect(await holds([write('n', 'x')], BEFORE, after, [SHA])).toBe(false)
    expect(await holds([write('n', 'x')], BEFORE, after, [BASE, SHA])).toBe(false)
    expect(await holds([write('n', 'x')], BEFORE, after, [])).toBe(false)
  })

  test('that GitLab does not show yet is looked at later, also when all it does is delete', async () => {
    await expect(holds([write('n', 'x')], BEFORE, null)).rejects.toMatchObject({ code: 'commit_not_visible' })
    await expect(holds([remove('top')], BEFORE, null)).rejects.toMatchObject({ failure: 'transient' })
  })

  test('that leaves nothing holds what was inspected when that was asked for', async () => {
    expect(await holds([remove('only')], { only: leaf('1') }, {})).toBe(true)
  })
})

function describeFiles(files: Files): string {
  const lines = Object.entries(files).map(([path, { mode, text }]) => `${mode} ${path} ${text}`)
  return lines.sort().join('\n')
}

test('exactly the commits that change what was asked for, and nothing else, hold what was inspected', async () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const path = fc
    .array(name, { minLength: 1, maxLength: 3 })
    .map((names) => [...names.slice(0, -1), `${names.at(-1)}.f`].join('/'))
  const text = fc.constantFrom('1', '2', '3')
  const mode = fc.constantFrom('100644', '100755')
  const files = fc.dictionary(path, fc.record({ text, mode }), { maxKeys: 8 })
  const asked = fc.dictionary(path, fc.option(text), { minKeys: 1, maxKeys: 4 })
  /** Something that GitLab does as well; undefined: it takes the file away. */
  const surprise = fc.option(fc.tuple(path, fc.option(fc.record({ text, mode }), { nil: undefined })), {
    nil: undefined,
  })
  await fc.assert(
    fc.asyncProperty(files, asked, surprise, async (before, wishes, extra) => {
      const wanted = Object.entries(wishes).filter(([at, content]) => content !== null || before[at] !== undefined)
      const actions = wanted.map(([at, content]) => (content === null ? remove(at) : write(at, content)))
      const expected: Record<string, Leaf> = { ...before }
      for (const [at, content] of wanted) {
        if (content === null) delete expected[at]
        else expected[at] = leaf(content, before[at]?.mode)
      }
      const after = { ...expected }
      if (extra !== undefined && extra[1] === undefined) delete after[extra[0]]
      else if (extra?.[1] !== undefined) after[extra[0]] = extra[1]
      const isSame = describeFiles(expected) === describeFiles(after)
      expect(await holds(actions, before, after)).toBe(isSame)
    }),
    { numRuns: 500 },
  )
})
