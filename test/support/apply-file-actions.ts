/**
 * What the service would make of file actions in a tree: the schema of submissions, the rules about actions that go
 * together, the plan against the tree, and then the commit as GitLab makes it.
 */
import { createHash } from 'node:crypto'
import type { GitLabCommitAction } from '../../src/gitlab/port.ts'
import { planFiles } from '../../src/item-types/mr/file-plan.ts'
import { compileFileRules } from '../../src/item-types/mr/inspection/file-rules.ts'
import { mrSubmissionSchema } from '../../src/item-types/mr/schema.ts'
import type { File, Files } from './git-repository.ts'

const LIMITS = { max_actions: 10_000, max_file_bytes: 10_000_000, max_total_bytes: 10_000_000 }

/** Throws when the service would refuse any of it. */
export function applyFileActions(base: Files, fileActions: readonly unknown[]): Files {
  if (fileActions.length === 0) return base
  const submission = mrSubmissionSchema.parse({
    item_type: 'mr',
    project: 'p',
    source_branch: 'b',
    title: 't',
    file_actions: fileActions,
  })
  const rules = compileFileRules({ judge: () => null }, LIMITS)
  const entries = new Map(
    [...base].map(([path, { content, mode }]) => [
      path,
      { path, id: blobId(content), mode, type: 'blob' as const, name: path },
    ]),
  )
  const plan = planFiles(submission.file_actions, { entries, obstructed: new Map() })
  const findings = [...rules(submission), ...plan.findings]
  if (findings.length > 0) throw new Error(JSON.stringify(findings))
  const files = new Map(base)
  for (const action of plan.actions) applyAction(files, action)
  return files
}

function applyAction(files: Map<string, File>, action: GitLabCommitAction): void {
  const { file_path: path } = action
  if (action.action === 'create') {
    if (files.has(path)) throw new Error(`${path} exists`)
    files.set(path, { content: contentOf(action), mode: action.execute_filemode ? '100755' : '100644' })
    return
  }
  const source = action.action === 'move' ? (action.previous_path ?? '') : path
  const file = files.get(source)
  if (file === undefined) throw new Error(`${source} is missing`)
  files.delete(source)
  if (action.action === 'delete') return
  if (action.action === 'chmod') files.set(path, { ...file, mode: action.execute_filemode ? '100755' : '100644' })
  else files.set(path, { ...file, content: action.content === undefined ? file.content : contentOf(action) })
}

function contentOf({
  content = '',
  encoding = 'text',
}: {
  readonly content?: string
  readonly encoding?: string
}): Buffer {
  return Buffer.from(content, encoding === 'base64' ? 'base64' : 'utf8')
}

function blobId(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
}
