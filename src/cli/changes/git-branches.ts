/** Which branch the repository in the current directory is on, and which one is the default. */
import { git, gitLine } from './git.ts'

/** null: no branch is checked out, as in a CI job. */
export async function currentBranch(): Promise<string | null> {
  return (await gitLine(['symbolic-ref', '--short', '--quiet', 'HEAD'], { allow: [1] })) || null
}

/** The name itself when it is a branch's. */
export async function branchOf(name: string): Promise<string | null> {
  const found = await git(['show-ref', '--verify', `refs/heads/${name}`], { allow: [1, 128] })
  return found.length > 0 ? name : null
}

/** null: the clone does not say. */
export async function defaultBranch(): Promise<string | null> {
  const name = await gitLine(['symbolic-ref', '--short', '--quiet', 'refs/remotes/origin/HEAD'], { allow: [1] })
  return name.replace(/^origin\//, '') || null
}
