/**
 * The files that define the target project's pipelines, as they are on the target branch. They are blocked like the paths of
 * the block list, but which they are is known only once GitLab was asked. Bounded: what lies deeper is not found.
 */
import { LRUCache } from 'lru-cache'
import type { CallOptions } from '../../../gitlab/port.ts'
import { ciConfigPathOf, isPlainPath, localIncludes, matchesInclude } from '../ci-files.ts'
import type { MrServices } from './context.ts'
import type { Target } from './project.ts'

const MAX_DEPTH = 4
const MAX_FILES = 40
const MAX_KNOWN = 200
/** Lifts the pipeline definition from the block list; what it includes is open then as well. */
const LIFTED = '**/.gitlab-ci*.yml'

/** Answers those of the paths that define pipelines. */
export type FindPipelineFiles = (
  target: Target,
  paths: readonly string[],
  call: CallOptions,
) => Promise<readonly string[]>

export function createFindPipelineFiles(services: Pick<MrServices, 'gitlab' | 'inspector'>): FindPipelineFiles {
  /** By commit: what a commit includes never changes. */
  const known = new LRUCache<string, readonly string[]>({ max: MAX_KNOWN })

  return async (target, paths, call) => {
    const { project, branch } = target
    const root = ciConfigPathOf(project.ciConfigPath)
    if (root === null) return []
    const isLifted = services.inspector.policyOf(project.path)?.unblock_paths.includes(LIFTED) ?? false
    const includes = isLifted ? [] : await includesOf(`${project.id} ${branch.sha} ${root}`, target, root, call)
    // The definition itself in its usual place is on the block list, where a project can lift it.
    const blocked = project.ciConfigPath === null ? includes : [root, ...includes]
    return paths.filter((path) => blocked.some((include) => matchesInclude(include, path)))
  }

  async function includesOf(key: string, target: Target, root: string, call: CallOptions) {
    const includes = known.get(key) ?? (await readIncludes(services, target, root, call))
    known.set(key, includes)
    return includes
  }
}

async function readIncludes(
  { gitlab }: Pick<MrServices, 'gitlab'>,
  { project, branch }: Target,
  root: string,
  call: CallOptions,
): Promise<readonly string[]> {
  const found = new Set<string>()
  const seen = new Set<string>()
  let level: readonly string[] = [root]
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth += 1) {
    const next: string[] = []
    for (const path of level) {
      if (seen.has(path) || seen.size >= MAX_FILES) continue
      seen.add(path)
      const file = await gitlab.getFile(project.id, path, branch.sha, call)
      for (const include of file === null ? [] : localIncludes(file.content.toString('utf8'), project.path)) {
        if (found.has(include)) continue
        found.add(include)
        next.push(...(await filesOf(include)))
      }
    }
    level = next
  }
  return [...found]

  /** Of a pattern those in the directory that it names; deeper ones are blocked by the pattern, but not read. */
  async function filesOf(include: string): Promise<readonly string[]> {
    if (isPlainPath(include)) return [include]
    const directory = include.slice(0, include.search(/[*$]/)).split('/').slice(0, -1).join('/')
    const entries = await gitlab.listTree(project.id, directory, branch.sha, call)
    return entries.filter(({ type, path }) => type === 'blob' && matchesInclude(include, path)).map(({ path }) => path)
  }
}
