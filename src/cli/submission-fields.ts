/**
 * A submission of a merge request from what was said on the command line and, in a job of GitLab CI, from its environment.
 * Only what was said is in it: every default that is not named here is the service's.
 */
import { type Command, InvalidArgumentError } from 'commander'
import { parseDuration } from '../lib/duration.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { FileAction } from './changes/file-change.ts'
import { defaultBranch } from './changes/git-branches.ts'

export interface FieldOptions {
  readonly project?: string
  readonly sourceBranch?: string
  readonly targetBranch?: string
  readonly title?: string
  readonly description?: string
  readonly commitMessage?: string
  readonly label?: readonly string[]
  readonly assignee?: readonly string[]
  readonly reviewer?: readonly string[]
  readonly autoMerge?: true
  readonly squash?: true
  readonly keepSourceBranch?: true
  readonly expiresAfter?: string
  readonly forceOverwrite?: true
}

/** The names of `FieldOptions`: with a file they would say nothing, for the file says it all. */
export const FIELD_OPTIONS = [
  ...(['project', 'sourceBranch', 'targetBranch', 'title', 'description', 'commitMessage', 'label'] as const),
  ...(['assignee', 'reviewer', 'autoMerge', 'squash', 'keepSourceBranch', 'expiresAfter', 'forceOverwrite'] as const),
] satisfies readonly (keyof FieldOptions)[]

export function withFields(command: Command): Command {
  return command
    .optionsGroup('With --from-git and --from-dir:')
    .option('--project <path>', 'project in GitLab (default: $CI_PROJECT_PATH)')
    .option('--source-branch <name>', 'branch to write (default: the one checked out, or $CI_COMMIT_REF_NAME)')
    .option('--target-branch <name>', "branch to merge into (default: the project's default branch)")
    .option('--title <text>', 'title (default: the subject of the newest commit)')
    .option('--description <text>', 'description, Markdown')
    .option('--commit-message <text>', 'message of the commit (default: the title)')
    .option('--label <name>', 'add a label; repeatable', append)
    .option('--assignee <user>', 'user name in GitLab; repeatable', append)
    .option('--reviewer <user>', 'user name in GitLab; repeatable', append)
    .option('--auto-merge', "merge as soon as the pipeline is green and the project's policy allows it")
    .option('--squash', 'squash when it is merged')
    .option('--keep-source-branch', 'keep the branch after the merge')
    .option('--expires-after <duration>', 'close it when it is still open after this time, such as 14d', duration)
    .option('--force-overwrite', "write over somebody else's commits on the source branch; takes a permission")
}

/** What a change brings along. */
export interface Change {
  readonly fileActions: readonly FileAction[]
  /** null: nothing tells what the change is. */
  readonly subject: string | null
  /** The branch it ends in; null when it is of none. */
  readonly branch: string | null
  /** Whether it comes from the repository in the current directory. */
  readonly isOfRepository: boolean
}

/** @throws WorkQueueError `bad_usage`. */
export async function composeSubmission(
  options: FieldOptions,
  change: Change,
  env: NodeJS.ProcessEnv,
): Promise<object> {
  const project = options.project ?? env['CI_PROJECT_PATH']
  const title = options.title ?? change.subject
  if (!project) throw missing('The project is not known', '--project GROUP/NAME')
  if (!title) throw missing('No commit tells what the change is', '--title TEXT')
  return {
    item_type: 'mr',
    project,
    source_branch: options.sourceBranch ?? (await sourceBranchOf(options, change, env)),
    target_branch: options.targetBranch,
    title,
    description: options.description,
    commit_message: options.commitMessage,
    labels: options.label,
    assignees: options.assignee,
    reviewers: options.reviewer,
    auto_merge: options.autoMerge,
    squash: options.squash,
    remove_source_branch: options.keepSourceBranch === true ? false : undefined,
    expires_after: options.expiresAfter,
    force_overwrite: options.forceOverwrite,
    file_actions: change.fileActions,
  }
}

async function sourceBranchOf(
  { targetBranch }: FieldOptions,
  { branch: ofChange, isOfRepository }: Change,
  env: NodeJS.ProcessEnv,
) {
  // A tag's pipeline has its name where others have their branch.
  const ofJob = env['CI_COMMIT_TAG'] ? undefined : env['CI_COMMIT_REF_NAME']
  const branch = ofChange ?? ofJob
  if (!branch) throw missing('The branch to write is not known', '--source-branch NAME')
  const known = [targetBranch, env['CI_DEFAULT_BRANCH'], isOfRepository ? await defaultBranch() : null].filter(Boolean)
  const never = known.length > 0 ? known : ['main', 'master']
  if (!never.includes(branch)) return branch
  throw missing(
    `The branch "${branch}" is what the change is to be merged into`,
    'another one to write with --source-branch NAME',
  )
}

function missing(what: string, how: string): WorkQueueError {
  return new WorkQueueError('bad_usage', `${what}: give ${how}.`)
}

function append(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

function duration(text: string): string {
  if (parseDuration(text) === null) throw new InvalidArgumentError('Write a duration such as 12h or 14d.')
  return text
}
