/** Sizes and contents of blobs, many with one call of git. */
import { WorkQueueError } from '../../lib/errors.ts'
import { type GitOptions, git, gitLine } from './git.ts'

type Env = Pick<GitOptions, 'env'>

export async function blobSizes(ids: readonly string[], options: Env): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map()
  const format = '--batch-check=%(objectname) %(objectsize)'
  const lines = await gitLine(['cat-file', format], { ...options, input: `${ids.join('\n')}\n` })
  return new Map(
    lines.split('\n').map((line): [string, number] => {
      const [id = '', size = ''] = line.split(' ')
      if (!/^\d+$/.test(size)) {
        throw new WorkQueueError('input_unreadable', `The repository lacks the object ${id}; git fsck tells more.`)
      }
      return [id, Number(size)]
    }),
  )
}

export async function blobContents(ids: readonly string[], options: Env): Promise<ReadonlyMap<string, Buffer>> {
  const contents = new Map<string, Buffer>()
  if (ids.length === 0) return contents
  const bytes = await git(['cat-file', '--batch'], { ...options, input: `${ids.join('\n')}\n` })
  // Each is a line `ID blob SIZE`, the content, and a line feed.
  for (let start = 0; start < bytes.length; ) {
    const lineEnd = bytes.indexOf('\n', start)
    const [id = '', , size = ''] = bytes.toString('latin1', start, lineEnd).split(' ')
    const end = lineEnd + 1 + Number(size)
    if (!/^\d+$/.test(size) || end > bytes.length) throw new Error('git cat-file ended in the middle of a blob')
    contents.set(id, bytes.subarray(lineEnd + 1, end))
    start = end + 1
  }
  return contents
}
