/**
 * Which branches a submission may name. The service writes to the source branch with force, so a name that Git or GitLab
 * could read as something else (another ref, a commit id, a merge request's head) is refused, whatever the project allows.
 */
import type { Finding } from '../../../lib/finding.ts'
import type { MrSubmission } from '../schema.ts'
import { compilePatterns } from './glob.ts'
import type { ProjectPolicy } from './policy.ts'

const SHAPE = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,180}$/
/** Where Git and GitLab keep refs of their own, and what Git reads in front of a short name. */
const RESERVED_PREFIX = /^(head|refs|heads|tags|remotes|merge-requests|environments|keep-around|pipelines|tmp)(\/|$)/i
const RESERVED_NAME = /^(fetch_head|orig_head|merge_head)$/i
/** Git takes it for a commit id. */
const HEXADECIMAL = /^[0-9a-f]{7,}$/i

export type BranchRules = (submission: MrSubmission) => readonly Finding[]

export function compileBranchRules({ source_branches, target_branches }: ProjectPolicy): BranchRules {
  const allowedSource = compilePatterns(source_branches, { nocase: false })
  return ({ source_branch: source, target_branch: target }) => {
    const findings: Finding[] = []
    const add = (code: string, path: string, message: string) => findings.push({ code, path, message })
    const fault = faultOfBranchName(source)
    if (fault !== null) {
      add('branch_name_refused', '/source_branch', `The source branch ${fault}; choose another name.`)
    } else if (!allowedSource(source)) {
      add(
        'source_branch_not_allowed',
        '/source_branch',
        `The source branch must match ${source_branches.join(' or ')}.`,
      )
    }
    if (target !== undefined && target_branches !== undefined && !target_branches.includes(target)) {
      add('target_branch_not_allowed', '/target_branch', `The target branch must be ${target_branches.join(' or ')}.`)
    }
    const targets = target === undefined ? (target_branches ?? []) : [target]
    if (targets.some((name) => branchesCollide(name, source))) {
      add(
        'source_is_target',
        '/source_branch',
        'The source branch must not be the target branch, nor lie above or below it; choose another name.',
      )
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

function faultOfBranchName(name: string): string | null {
  if (!SHAPE.test(name)) {
    return 'must begin with a letter or digit, and have at most 181 characters, all of A-Z a-z 0-9 . _ / -'
  }
  if (RESERVED_PREFIX.test(name) || RESERVED_NAME.test(name)) return 'has a name that Git or GitLab keeps for itself'
  if (HEXADECIMAL.test(name)) return 'looks like a commit id'
  if (name.includes('..')) return 'holds ..'
  for (const segment of name.split('/')) {
    if (segment === '') return 'ends with / or holds //'
    if (/^[.-]/.test(segment)) return 'has a part that begins with . or -'
    if (/(\.|\.lock)$/i.test(segment)) return 'has a part that ends with . or .lock'
  }
  return null
}
