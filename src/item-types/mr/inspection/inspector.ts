/**
 * The inspection of submissions: everything that can be judged from the submission and the configuration alone, all
 * findings at once, each with a stable code, a JSON pointer and a sentence that says what to do. It runs at the door and
 * again right before the service writes, because the configuration may have changed in between. Decision 0009.
 */
import type { Finding } from '../../../lib/finding.ts'
import type { MrSubmission } from '../schema.ts'
import { compileBranchRules } from './branch-rules.ts'
import { compileContentRules } from './content-rules.ts'
import { compileFileRules, touchedPaths } from './file-rules.ts'
import { compilePatterns } from './glob.ts'
import { compileLabelRules } from './label-rules.ts'
import { compilePathRules } from './path-rules.ts'
import type { InspectionPolicy, ProjectPolicy } from './policy.ts'
import { inspectText } from './text-rules.ts'

export interface Inspector<Policy extends ProjectPolicy> {
  inspect(submission: MrSubmission): Promise<readonly Finding[]>
  /** Does it touch a path that a named person has to agree to? */
  needsReview(submission: MrSubmission): boolean
  /** The configuration's entry for a project, whatever the case of its path; null when there is none. */
  policyOf(project: string): Policy | null
}

/** Compiles every pattern once. The cost of `inspect` is linear in the submission. */
export function createInspector<Policy extends ProjectPolicy>(
  policy: InspectionPolicy & { readonly projects: readonly Policy[] },
): Inspector<Policy> {
  const projects = new Map(
    policy.projects.map((project: Policy) => {
      const branches = compileBranchRules(project)
      const files = compileFileRules(compilePathRules(project), policy.limits)
      const [labels, contents] = [compileLabelRules(project), compileContentRules(project)]
      const isReviewed = compilePatterns(project.review?.paths ?? [], { nocase: true })
      return [
        project.path.toLowerCase(),
        { project, isReviewed, rules: [branches, inspectText, labels, files], contents },
      ] as const
    }),
  )
  return {
    policyOf: (project) => projects.get(project.toLowerCase())?.project ?? null,
    async inspect(submission) {
      const known = projects.get(submission.project.toLowerCase())
      if (known === undefined) return [notConfigured()]
      const findings = known.rules.flatMap((inspect) => inspect(submission))
      // Nothing is decoded before it is known to be in its standard form and small enough.
      return findings.length > 0 ? findings : known.contents(submission)
    },
    needsReview({ project, file_actions }) {
      const known = projects.get(project.toLowerCase())
      // A project that is not configured any more has nobody to ask; the inspection refuses it anyway.
      if (known === undefined) return true
      return file_actions.some((action) => touchedPaths(action).some(({ path }) => known.isReviewed(path)))
    },
  }
}

function notConfigured(): Finding {
  return {
    code: 'project_not_configured',
    path: '/project',
    message: 'The service is not set up for this project; check its full path, or ask the operators to add it.',
  }
}
