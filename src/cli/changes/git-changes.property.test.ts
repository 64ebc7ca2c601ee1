import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { applyFileActions } from '../../../test/support/apply-file-actions.ts'
import {
  createGitRepository,
  type File,
  type Files,
  type GitRepository,
  tree,
} from '../../../test/support/git-repository.ts'
import { readGitChanges } from './git-changes.ts'

let repository: GitRepository

beforeEach(async () => {
  repository = await createGitRepository()
})
afterEach(() => repository.remove())

const PATHS = ['a', 'b', 'dir/a', 'dir/b', 'dir/sub/c', 'dir/sub/d', 'b/x', 'odd "name"', 'grüße/ä b.md', 'e/f/g/h']
const text = fc
  .array(fc.constantFrom('one', 'two', 'three', 'four', 'ünï'), { maxLength: 12 })
  .map((words) => words.join('\n'))
const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array))
const file = fc.record({
  content: fc.oneof({ weight: 3, arbitrary: text.map((words) => Buffer.from(words)) }, bytes),
  mode: fc.constantFrom('100644' as const, '100755' as const),
})
const edit = fc.oneof(
  fc.record({ kind: fc.constant('write' as const), path: fc.constantFrom(...PATHS), file }),
  fc.record({ kind: fc.constant('remove' as const), path: fc.constantFrom(...PATHS) }),
  fc.record({
    kind: fc.constant('move' as const),
    path: fc.constantFrom(...PATHS),
    to: fc.constantFrom(...PATHS),
    flips: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('append' as const), path: fc.constantFrom(...PATHS), bytes }),
  fc.record({ kind: fc.constant('chmod' as const), path: fc.constantFrom(...PATHS) }),
)
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never

function edited(before: Files, edits: readonly Edit[]): Files {
  const files = new Map(before)
  for (const change of edits) {
    const current = files.get(change.path)
    if (change.kind === 'write') put(files, change.path, change.file)
    else if (current === undefined) continue
    else if (change.kind === 'append')
      put(files, change.path, { ...current, content: Buffer.concat([current.content, change.bytes]) })
    else if (change.kind === 'chmod') put(files, change.path, flipped(current))
    else {
      files.delete(change.path)
      if (change.kind === 'move') put(files, change.to, change.flips ? flipped(current) : current)
    }
  }
  return files
}

function flipped({ content, mode }: File): File {
  return { content, mode: mode === '100644' ? '100755' : '100644' }
}

/** As a disk does it: a file makes room for itself, and a directory too. */
function put(files: Map<string, File>, path: string, content: File): void {
  for (const other of [...files.keys()]) {
    if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) files.delete(other)
  }
  files.set(path, content)
}

test('turns any tree into any other exactly, unless a path is a file here and a directory there', async () => {
  const edits = fc.array(edit, { maxLength: 12 })
  let exact = 0
  await fc.assert(
    fc.asyncProperty(edits, edits, async (first, second) => {
      const before = edited(tree({ anchor: 'x' }), first)
      const after = edited(before, second)
      const turned = [...before.keys()].some((path) =>
        [...after.keys()].some((other) => other.startsWith(`${path}/`) || path.startsWith(`${other}/`)),
      )
      await repository.commit('main', null, before)
      await repository.commit('work', 'main', after)
      const changes = readGitChanges('main..work', { worktree: false, measured: () => {} })
      if (turned) {
        await expect(changes).rejects.toMatchObject({ code: 'input_unsupported' })
        return
      }
      exact += 1
      const { fileActions } = await changes
      expect(applyFileActions(before, fileActions)).toEqual(after)
    }),
    { numRuns: 50 },
  )
  expect(exact).toBeGreaterThan(20)
}, 60_000)
