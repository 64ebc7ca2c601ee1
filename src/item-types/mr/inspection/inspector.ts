/**
 * The inspection of submissions: everything that can be judged from the submission and the configuration alone, all
 * findings at once, each with a stable code, a JSON pointer and a sentence that says what to do. It runs at the door and
 * again right before the service writes, because the configuration may have changed in between. Decision 0009.
 */

import { compilePatterns } from '../../../lib/glob.ts'
import type { MrSubmission } from '../schema.ts'
import { compileBranchRules } from './branch-rules.ts'
import type { InspectionPolicy, ProjectPolicy } from './config.ts'
import { closeContentThreads, compileContentInspection } from './content-inspection.ts'
import { compileFileRules, touchedPaths } from './file-rules.ts'
import { compileLabelRules } from './label-rules.ts'
import { compilePathRules } from './path-rules.ts'
import { type FindingCode, finding, type InspectionFinding } from './rules.ts'
import { compileTextRules } from './text-rules.ts'

export interface Inspector<Policy extends ProjectPolicy> {
  inspect(submission: MrSubmission): Promise<readonly InspectionFinding[]>
  /** Does it touch a path that a named person has to agree to? */
  needsReview(submission: MrSubmission): boolean
  /** The configuration's entry for a project, whatever the case of its path; null when there is none. */
  policyOf(project: string): Policy | null
  /** Stops the threads of the process that look into files; what they have in hand is refused. */
  close(): Promise<void>
}

/** Content of such a submission is not looked at: it has more of it than anybody agreed to look at. */
const TOO_MUCH: ReadonlySet<FindingCode> = new Set(['too_many_actions', 'file_too_large', 'submission_too_large'])

/** Compiles every pattern once. The cost of `inspect` is linear in the submission. */
export function createInspector<Policy extends ProjectPolicy>(
  policy: Omit<InspectionPolicy, 'projects'> & { readonly projects: readonly Policy[] },
): Inspector<Policy> {
  const projects = new Map(
    policy.projects.map((project: Policy) => {
      const files = compileFileRules(compilePathRules(project), policy.limits)
      const rules = [compileBranchRules(project), compileTextRules(project), compileLabelRules(project), files]
      const inspectContent = compileContentInspection(project, policy.limits)
      const isReviewed = compilePatterns(project.review?.paths ?? [], { nocase: true })
      return [project.path.toLowerCase(), { project, isReviewed, rules, inspectContent }] as const
    }),
  )
  return {
    policyOf: (project) => projects.get(project.toLowerCase())?.project ?? null,
    async inspect(submission) {
      const known = projects.get(submission.project.toLowerCase())
      if (known === undefined) return [finding('project_not_configured', '/project')]
      const findings = known.rules.flatMap((inspect) => inspect(submission))
      if (findings.some(({ code }) => TOO_MUCH.has(code))) return findings
      return [...findings, ...(await known.inspectContent(submission))]
    },
    needsReview({ project, file_actions }) {
      const known = projects.get(project.toLowerCase())
      // A project that is not configured any more has nobody to ask; the inspection refuses it anyway.
      if (known === undefined) return true
      return file_actions.some((action) => touchedPaths(action).some(({ path }) => known.isReviewed(path)))
    },
    close: closeContentThreads,
  }
}
