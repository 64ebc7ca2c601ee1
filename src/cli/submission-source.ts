/**
 * Where a submission comes from, the same for every command that takes one: a file, the commits of a repository, or a
 * directory. What is found is told in one line on standard error before anything is sent.
 */
import type { Command } from 'commander'
import { refuseOversize } from '../client/client.ts'
import { WorkQueueError } from '../lib/errors.ts'
import { readDirectoryChanges } from './changes/directory-changes.ts'
import type { FileChange } from './changes/file-change.ts'
import { readGitChanges } from './changes/git-changes.ts'
import { measure, refuseLargeContents, sizeText } from './changes/size-report.ts'
import type { Output } from './output.ts'
import { readSubmission } from './read-submission.ts'
import { type Change, composeSubmission, FIELD_OPTIONS, type FieldOptions, withFields } from './submission-fields.ts'

export interface SourceOptions extends FieldOptions {
  readonly fromGit?: string
  readonly worktree?: true
  readonly fromDir?: string
  readonly into?: string
  readonly json?: boolean
}

export function withSource(command: Command): Command {
  return withFields(
    command
      .argument('[file]', 'the submission, JSON or YAML; - = standard input')
      .option('--from-git <range>', 'the changes of BASE..HEAD, or of BASE up to HEAD, in the repository here')
      .option('--worktree', 'with --from-git BASE: the files as they are on disk, committed or not')
      .option('--from-dir <directory>', 'every file of a directory, created or updated (.git is left out)')
      .option('--into <path>', "with --from-dir: the directory in the target's repository"),
  )
}

/** null: a range of commits that changes nothing. @throws WorkQueueError, `bad_usage` and what its parts throw. */
export async function readSource(file: string | undefined, options: SourceOptions, output: Output): Promise<unknown> {
  refuseMisuse(file, options)
  const submission = file === undefined ? await composeFromChange(options, output) : await readSubmission(file)
  if (submission !== null) refuseOversize(submission)
  return submission
}

async function composeFromChange(options: SourceOptions, { complain, errorColors }: Output): Promise<object | null> {
  const measured = (what: string, changes: readonly FileChange[]) => {
    if (changes.length === 0) return
    const size = measure(changes)
    complain(options.json ? JSON.stringify({ size }) : errorColors.dim(sizeText(what, size)))
    refuseLargeContents(size)
  }
  const change = await readChange(options, measured)
  return change.fileActions.length === 0 ? null : composeSubmission(options, change, process.env)
}

async function readChange(
  { fromGit, worktree, fromDir, into }: SourceOptions,
  measured: (what: string, changes: readonly FileChange[]) => void,
): Promise<Change> {
  if (fromGit !== undefined)
    return { ...(await readGitChanges(fromGit, { worktree: worktree === true, measured })), isOfRepository: true }
  const fileActions = await readDirectoryChanges(fromDir ?? '', { into, measured })
  return { fileActions, subject: null, branch: null, isOfRepository: false }
}

function refuseMisuse(file: string | undefined, options: SourceOptions): void {
  const { fromGit, worktree, fromDir, into } = options
  if ([file, fromGit, fromDir].filter((source) => source !== undefined).length !== 1) {
    throw misuse(
      'Say where the submission is: a file (- = standard input), --from-git BASE..HEAD, or --from-dir DIRECTORY.',
    )
  }
  if (worktree && fromGit === undefined) throw misuse('--worktree goes with --from-git.')
  if (into !== undefined && fromDir === undefined) throw misuse('--into goes with --from-dir.')
  // An unset variable of a script: it would be the whole current directory, or its root.
  if (fromDir === '') throw misuse('--from-dir needs a directory.')
  if (into === '') throw misuse('--into needs a path; without it, the files go into the root.')
  const idle = file === undefined ? undefined : FIELD_OPTIONS.find((name) => options[name] !== undefined)
  if (idle === undefined) return
  const flag = `--${idle.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  throw misuse(`${flag} goes with --from-git and --from-dir; with a file, say it in the file.`)
}

function misuse(message: string): WorkQueueError {
  return new WorkQueueError('bad_usage', message)
}
