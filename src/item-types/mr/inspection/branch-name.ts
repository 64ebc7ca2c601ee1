/**
 * Names of branches. The service writes to the source branch with force, so a name that Git or GitLab could read as something
 * else (another ref, a commit id, a merge request's head) is refused, whatever the project allows.
 */

const SHAPE = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,180}$/
/** Where Git and GitLab keep refs of their own, and what Git reads in front of a short name. */
const RESERVED_PREFIX = /^(head|refs|heads|tags|remotes|merge-requests|environments|keep-around|pipelines|tmp)(\/|$)/i
const RESERVED_NAME = /^(fetch_head|orig_head|merge_head)$/i
/** Git takes it for a commit id. */
const HEXADECIMAL = /^[0-9a-f]{7,}$/i

/** What is wrong with it, as the rest of a sentence; null when it may be a source branch. */
export function faultOfBranchName(name: string): string | null {
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
