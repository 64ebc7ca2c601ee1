/**
 * Which files of a project define its pipelines: what a pipeline definition includes from its own project, also for child
 * pipelines. Whoever changes such a file decides what runs with the rights of CI. Pure; a definition that cannot be read
 * includes nothing.
 */
import { parseAllDocuments } from 'yaml'

const DEFAULT_PATH = '.gitlab-ci.yml'
const MAX_LENGTH = 262_144
const MAX_PATH = 1_024
const MAX_PARTS = 16

/** Where the pipeline definition lies in the project itself; null: elsewhere. `configured`: the project's ci_config_path. */
export function ciConfigPathOf(configured: string | null): string | null {
  const path = configured || DEFAULT_PATH
  // `file@group/project` and an address: of another project, which is that project's business.
  return path.includes('@') || path.includes('://') ? null : withoutRoot(path)
}

/** Paths and patterns of paths that the definition includes from `project`, the one that it lies in. */
export function localIncludes(definition: string, project: string): readonly string[] {
  if (definition.length > MAX_LENGTH) return []
  const found = new Set<string>()
  for (const content of parse(definition)) {
    if (!isMap(content)) continue
    const jobs = Object.values(content).map((job) => (isMap(job) && isMap(job['trigger']) ? job['trigger'] : {}))
    for (const { include } of [content, ...jobs]) {
      for (const entry of asList(include)) {
        for (const path of pathsOf(entry, project)) found.add(withoutRoot(path))
      }
    }
  }
  return [...found]
}

/**
 * A variable may hold anything; `*` stays within a directory, `**` does not. Case is ignored. In linear time, because the
 * pattern is the project's, and the service is everybody's.
 */
export function matchesInclude(include: string, path: string): boolean {
  const text = path.toLowerCase()
  let reached = new Set([0])
  for (const part of partsOf(include)) {
    const next = new Set<number>()
    for (const at of reached) {
      if (isText(part)) {
        if (text.startsWith(part, at)) next.add(at + part.length)
        continue
      }
      const slash = part === '*' ? text.indexOf('/', at) : -1
      const end = slash === -1 ? text.length : slash
      // What an earlier place has reached from here on was added then.
      for (let to = at; to <= end && !next.has(to); to += 1) next.add(to)
    }
    reached = next
  }
  return reached.has(text.length)
}

function partsOf(include: string): readonly string[] {
  const parts = include.toLowerCase().split(VARIABLE_OR_GLOB).filter(Boolean)
  // Nobody writes more of them. The rest is taken for anything, which blocks too much rather than too little.
  return parts.length <= MAX_PARTS ? parts : [...parts.slice(0, MAX_PARTS), '**']
}

/** Does it name one file, and not a pattern? */
export function isPlainPath(include: string): boolean {
  return !/[*$]/.test(include)
}

const VARIABLE_OR_GLOB = /(\*\*\/?|\*|\$\w+|\$\{\w+\})/

function parse(definition: string): readonly unknown[] {
  try {
    // A definition may have a header (`spec:`) as a document of its own, and tags (`!reference`) that YAML does not know.
    const documents = parseAllDocuments(definition, { logLevel: 'silent', merge: true })
    return [...documents].map((document) => document.toJS({ maxAliasCount: 100 }) as unknown)
  } catch {
    return []
  }
}

function pathsOf(entry: unknown, project: string): readonly string[] {
  if (typeof entry === 'string') return entry.includes('://') ? [] : usable([entry])
  if (!isMap(entry)) return []
  const isOwn = typeof entry['project'] === 'string' && entry['project'].toLowerCase() === project.toLowerCase()
  return usable([...asList(entry['local']), ...(isOwn ? asList(entry['file']) : [])])
}

/** One that is made of variables alone would match every file there is. */
function usable(paths: readonly unknown[]): readonly string[] {
  return paths.filter(
    (path) =>
      typeof path === 'string' &&
      path.length <= MAX_PATH &&
      /\w/.test(path.split(VARIABLE_OR_GLOB).filter(isText).join('')),
  ) as string[]
}

function isText(part: string): boolean {
  return !/^[*$]/.test(part)
}

function asList(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** GitLab begins the paths of local includes with a slash, and means the root of the repository. */
function withoutRoot(path: string): string {
  return path.replace(/^(\.?\/)+/, '')
}
