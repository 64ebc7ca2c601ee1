/** Which branches a submission may name: sound names, the project's own patterns, and never the target itself. */

import { compilePatterns } from '../../../lib/glob.ts'
import type { MrSubmission } from '../schema.ts'
import { faultOfBranchName } from './branch-name.ts'
import type { ProjectPolicy } from './config.ts'
import { finding, type InspectionFinding } from './rules.ts'

export type BranchRules = (submission: MrSubmission) => readonly InspectionFinding[]

export function compileBranchRules({ source_branches, target_branches }: ProjectPolicy): BranchRules {
  const allowedSource = compilePatterns(source_branches, { nocase: false })
  return ({ source_branch: source, target_branch: target }) => {
    const findings: InspectionFinding[] = []
    const fault = faultOfBranchName(source)
    if (fault !== null) {
      findings.push(finding('branch_name_refused', '/source_branch', { why: fault }))
    } else if (!allowedSource(source)) {
      const patterns = source_branches.join(' or ')
      findings.push(finding('source_branch_not_allowed', '/source_branch', { patterns }))
    }
    if (target !== undefined && target_branches !== undefined && !target_branches.includes(target)) {
      findings.push(finding('target_branch_not_allowed', '/target_branch', { branches: target_branches.join(' or ') }))
    }
    const targets = target === undefined ? (target_branches ?? []) : [target]
    if (targets.some((name) => branchesCollide(name, source))) {
      findings.push(finding('source_is_target', '/source_branch'))
    }
    return findings
  }
}

/**
 * Are they the same, or is one a directory of the other, which Git cannot keep? Case ignored: Git tells `Main` and `main`
 * apart, but people and rules about refs do not.
 */
export function branchesCollide(left: string, right: string): boolean {
  const [a, b] = [`${left.toLowerCase()}/`, `${right.toLowerCase()}/`]
  return a.startsWith(b) || b.startsWith(a)
}
