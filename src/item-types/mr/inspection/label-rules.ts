/**
 * Which labels a submission may set. Labels set off automation of all kinds, and a scoped one (`priority::high`) takes the place
 * of another that a person has set; so those only where the project lists them.
 */
import type { Finding } from '../../../lib/finding.ts'
import type { MrSubmission } from '../schema.ts'
import { compilePatterns } from './glob.ts'
import type { ProjectPolicy } from './policy.ts'

export function compileLabelRules({ allow_labels }: ProjectPolicy): (submission: MrSubmission) => readonly Finding[] {
  const listed = allow_labels === undefined ? null : compilePatterns(allow_labels, { nocase: false })
  return ({ labels }) =>
    labels.flatMap((label, index) => {
      if (listed === null ? !label.includes('::') : listed(label)) return []
      const message =
        listed === null
          ? 'The label is scoped (it holds ::), which takes an entry in the allow_labels of the project.'
          : 'The label is none of those that this project allows.'
      return [{ code: 'label_not_allowed', path: `/labels/${index}`, message }]
    })
}
