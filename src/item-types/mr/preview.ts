/**
 * The dry run of a merge request: the second stage of the inspection, against the target as it is now, and what the commit
 * would change there, file by file. It asks GitLab and writes nothing. What a project is missing for the service to work at
 * all is a finding here, as everything else that keeps a submission from being done; a GitLab that is away is an error.
 */
import { GitLabError } from '../../gitlab/errors.ts'
import { WorkQueueError } from '../../lib/errors.ts'
import { type Finding, MAX_FINDINGS } from '../../lib/finding.ts'
import type { Preview, PreviewOptions } from '../../queue/item-type.ts'
import type { MrProjectConfig } from './config.ts'
import type { MrServices } from './executors/context.ts'
import { createFindPipelineFiles, type FindPipelineFiles } from './executors/pipeline-files.ts'
import { planOn } from './executors/plan-on-tree.ts'
import { findTarget, type Target } from './executors/project.ts'
import { describeChanges } from './file-changes.ts'
import { touchedPaths } from './inspection/file-rules.ts'
import { finding } from './inspection/rules.ts'
import type { MrSubmission } from './schema.ts'

/** Of a submission that the first stage has no finding about. @throws GitLabError, transient; WorkQueueError `unavailable`. */
export type PreviewMr = (submission: MrSubmission, options: PreviewOptions) => Promise<Preview>

type PreviewServices = Pick<MrServices, 'gitlab' | 'inspector'>

export function createPreview(services: PreviewServices): PreviewMr {
  const findPipelineFiles = createFindPipelineFiles(services)
  return async (submission, options) => {
    const policy = services.inspector.policyOf(submission.project)
    if (policy === null) throw new Error('a submission without a project was to be previewed')
    try {
      return await lookAtTarget(services, findPipelineFiles, policy, submission, options)
    } catch (error) {
      const found = asFinding(error)
      if (found === null) throw error
      return { findings: [found], policy: {}, changes: [] }
    }
  }
}

async function lookAtTarget(
  services: PreviewServices,
  findPipelineFiles: FindPipelineFiles,
  policy: MrProjectConfig,
  submission: MrSubmission,
  { signal, withContents }: PreviewOptions,
): Promise<Preview> {
  const { gitlab } = services
  const call = { signal }
  const looking = { services, context: call, draft: { detail: { projectId: null, project: policy.path } } }
  const target = await findTarget(looking, policy, submission)
  const source = await gitlab.getBranch(target.project.id, submission.source_branch, call)
  const plan = await planOn(looking, submission, target.project.id, target.branch.sha)
  const blocked = new Set(await findPipelineFiles(target, pathsOf(submission), call))
  const findings = [...findProtected(source, submission), ...findBlocked(blocked, submission), ...plan.findings]
  const read = (path: string) => gitlab.getFile(target.project.id, path, target.branch.sha, call)
  const changes =
    findings.length > 0 ? [] : await describeChanges(submission.file_actions, plan, withContents ? read : null)
  return {
    findings: findings.slice(0, MAX_FINDINGS),
    policy: describePolicy(policy, target, services.inspector.needsReview(submission)),
    changes: changes.map((change) => ({ ...change })),
  }
}

function pathsOf({ file_actions }: MrSubmission): readonly string[] {
  return file_actions.flatMap((action) => touchedPaths(action).map(({ path }) => path))
}

function findProtected(
  source: { readonly protected: boolean; readonly default: boolean } | null,
  { source_branch }: MrSubmission,
): readonly Finding[] {
  if (source === null || !(source.protected || source.default)) return []
  return [finding('source_branch_protected', '/source_branch', { branch: source_branch })]
}

function findBlocked(blocked: ReadonlySet<string>, { file_actions }: MrSubmission): readonly Finding[] {
  return file_actions.flatMap((action, index) =>
    touchedPaths(action)
      .filter(({ path }) => blocked.has(path))
      .map(({ key, path }) => ({
        code: 'path_blocked',
        path: `/file_actions/${index}/${key}`,
        message: `The path ${path} defines the project's pipelines; it must be changed by a person.`,
      })),
  )
}

/** What is said about the project or a branch, as a place in the submission. */
const PLACES: Readonly<Record<string, string>> = {
  target_branch_missing: '/target_branch',
  target_branch_not_allowed: '/target_branch',
  source_is_target: '/source_branch',
  project_not_found: '/project',
  project_renamed: '/project',
  project_archived: '/project',
}

/** null: it says nothing about the submission. @throws WorkQueueError `unavailable`: GitLab refuses the service itself. */
function asFinding(error: unknown): Finding | null {
  if (!(error instanceof WorkQueueError) || error.failure === 'transient') return null
  const { code, message } = error
  const path = Object.hasOwn(PLACES, code) ? PLACES[code] : undefined
  if (path !== undefined) return { code, path, message }
  if (!(error instanceof GitLabError)) return null
  throw new WorkQueueError('unavailable', 'GitLab refuses what the service asks of it; its operator has to look.', {
    cause: error,
    failure: 'transient',
  })
}

function describePolicy(policy: MrProjectConfig, { project, branch }: Target, needsReview: boolean) {
  const { review, pipeline, hold_labels, freeze, allow_paths, block_paths, expires_after } = policy
  return {
    project: project.path,
    target_branch: branch.name,
    target_sha: branch.sha,
    ...(allow_paths === undefined ? {} : { allow_paths }),
    ...(block_paths.length === 0 ? {} : { block_paths }),
    needs_review: needsReview,
    ...(needsReview && review !== undefined ? { review } : {}),
    merge: { method: project.mergeMethod, pipeline, hold_labels, freeze },
    ...(expires_after === undefined ? {} : { expires_after_s: Math.round(expires_after / 1_000) }),
  }
}
