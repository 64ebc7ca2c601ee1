/**
 * What the content of a file must not be, judged over all of its bytes: a binary where the project expects none, because nobody
 * can read what it does; a pointer to a file that lies elsewhere and was never inspected; characters that show a reader something
 * else than a program reads. The encoding that a caller chose says nothing about any of it.
 */
import { isUtf8 } from 'node:buffer'
import type { Finding } from '../../../lib/finding.ts'
import type { FileAction, MrSubmission } from '../schema.ts'
import { compilePatterns, type Matcher } from './glob.ts'
import type { ProjectPolicy } from './policy.ts'

interface ContentFault {
  readonly code: 'binary_file' | 'lfs_pointer' | 'hidden_characters'
  readonly message: string
}

/** Bidirectional controls, and characters without width that are used to hide text: joiners, fillers, tags, a late BOM. */
const HIDDEN = /[\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u{e0000}-\u{e007f}]|(?!^)\ufeff/u
const LFS_POINTER = /^version https:\/\/git-lfs\.github\.com\/spec\/|^version https:\/\/hawser\.github\.com\/spec\//

export function compileContentRules(policy: ProjectPolicy): (submission: MrSubmission) => readonly Finding[] {
  const mayBeBinary = compilePatterns(policy.binary_paths, { nocase: true })
  const mayHide = compilePatterns(policy.hidden_characters_in, { nocase: false })
  return ({ file_actions }) =>
    file_actions.flatMap((action, index) => {
      const bytes = bytesOf(action)
      const fault = bytes === null ? null : faultOf(bytes, action.file_path, policy, { mayBeBinary, mayHide })
      if (fault === null) return []
      return [{ code: fault.code, path: `/file_actions/${index}/content`, message: fault.message }]
    })
}

function bytesOf(action: FileAction): Buffer | null {
  if (!('content' in action) || action.content === undefined) return null
  return Buffer.from(action.content, action.encoding === 'base64' ? 'base64' : 'utf8')
}

function faultOf(
  bytes: Buffer,
  path: string,
  { lfs_pointers }: ProjectPolicy,
  { mayBeBinary, mayHide }: { readonly mayBeBinary: Matcher; readonly mayHide: Matcher },
): ContentFault | null {
  if (bytes.includes(0) || !isUtf8(bytes)) {
    if (mayBeBinary(path)) return null
    return {
      code: 'binary_file',
      message: 'The file is binary (it holds NUL, or is not UTF-8), which this project does not allow at its path.',
    }
  }
  if (!lfs_pointers && LFS_POINTER.test(bytes.toString('latin1', 0, 200))) {
    return {
      code: 'lfs_pointer',
      message:
        'The file points to a large file that is stored elsewhere and cannot be inspected; send the content itself.',
    }
  }
  if (mayHide(path)) return null
  const line = lineOfHidden(bytes.toString())
  if (line === null) return null
  return {
    code: 'hidden_characters',
    message: `Line ${line} holds characters that cannot be seen or change the order of reading; take them out.`,
  }
}

function lineOfHidden(text: string): number | null {
  const found = HIDDEN.exec(text)
  if (found === null) return null
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < found.index; at = text.indexOf('\n', at + 1)) line += 1
  return line
}
