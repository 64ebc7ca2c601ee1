/**
 * Which labels a submission may set. Labels set off automation of all kinds, and a scoped one (`priority::high`) takes the place
 * of another that a person has set; so those only where the project lists them.
 */

import { compilePatterns } from '../../../lib/glob.ts'
import type { MrSubmission } from '../schema.ts'
import type { ProjectPolicy } from './config.ts'
import { finding, type InspectionFinding } from './rules.ts'

const SCOPED = 'is scoped (it holds ::), which takes an entry in the allow_labels of the project'
const NOT_LISTED = 'is none of those that this project allows'

export function compileLabelRules({
  allow_labels,
}: ProjectPolicy): (submission: MrSubmission) => readonly InspectionFinding[] {
  const listed = allow_labels === undefined ? null : compilePatterns(allow_labels, { nocase: false })
  return ({ labels }) =>
    labels.flatMap((label, index) => {
      if (listed === null ? !label.includes('::') : listed(label)) return []
      return [finding('label_not_allowed', `/labels/${index}`, { why: listed === null ? SCOPED : NOT_LISTED })]
    })
}
