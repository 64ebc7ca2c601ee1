import { posix } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mrPolicy } from '../../../../test/support/mr-item.ts'
import { DEFAULT_BLOCK_LIST } from './block-list.ts'
import { compilePathRules } from './path-rules.ts'

function judge(path: string, project: Readonly<Record<string, unknown>> = {}): string | null {
  const [policy] = mrPolicy(project).projects
  if (policy === undefined) throw new Error('no policy')
  return compilePathRules(policy).judge(path)?.code ?? null
}

/** One path for each entry of the block list that nobody may change. */
const BLOCKED: Readonly<Record<(typeof DEFAULT_BLOCK_LIST)[number], string>> = {
  '**/.gitlab-ci*.yml': 'sub/.gitlab-ci-extra.yml',
  '**/.gitlab-ci*.yaml': '.gitlab-ci.yaml',
  '.gitlab/**': '.gitlab/merge_request_templates/default.md',
  '**/CODEOWNERS': 'docs/CODEOWNERS',
  '.gitmodules': '.gitmodules',
  '**/.gitattributes': 'assets/.gitattributes',
  '.mailmap': '.mailmap',
  '.github/**': '.github/workflows/build.yml',
  '.tekton/**': '.tekton/push.yaml',
  '**/renovate.json*': 'renovate.json5',
  '**/.renovaterc*': '.renovaterc.json',
  '.pre-commit-config.yaml': '.pre-commit-config.yaml',
  '.husky/**': '.husky/pre-commit',
  '.githooks/**': '.githooks/pre-push',
  '**/.npmrc': 'packages/a/.npmrc',
  '**/.yarnrc*': '.yarnrc.yml',
  '**/.pnpmfile.cjs': '.pnpmfile.cjs',
  '**/.yarn/**': '.yarn/plugins/x.cjs',
  '**/.pypirc': '.pypirc',
  '**/.envrc': 'service/.envrc',
  '**/lefthook.y*ml': 'lefthook.yml',
  '**/.lefthook*': '.lefthook.toml',
  '.pre-commit-hooks.yaml': '.pre-commit-hooks.yaml',
  '.circleci/**': '.circleci/config.yml',
  '.forgejo/**': '.forgejo/workflows/a.yml',
  '.drone.yml': '.drone.yml',
  '.woodpecker*/**': '.woodpecker/build.yml',
  '.buildkite/**': '.buildkite/pipeline.yml',
  '**/Jenkinsfile*': 'Jenkinsfile',
  '.devcontainer/**': '.devcontainer/devcontainer.json',
  '.vscode/**': '.vscode/tasks.json',
  '.idea/**': '.idea/workspace.xml',
  '**/AGENTS.md': 'src/AGENTS.md',
  '**/CLAUDE.md': 'CLAUDE.md',
  '**/GEMINI.md': 'GEMINI.md',
  '.agents/**': '.agents/skill.md',
  '.claude/**': '.claude/settings.json',
  '.cursor/**': '.cursor/rules/x.mdc',
  '**/.cursorrules': '.cursorrules',
  '.windsurf/**': '.windsurf/x',
  '**/.windsurfrules': '.windsurfrules',
  '.kiro/**': '.kiro/x',
  '.gemini/**': '.gemini/settings.json',
  '**/.mcp.json': '.mcp.json',
}

describe('a path', () => {
  test.each([
    'README.md',
    'src/deep/er/file.test.ts',
    'a b/c d.txt',
    '.gitignore',
    'sub/.gitkeep',
    'docs/v1.2+3/@scope/x_y-z',
    'sub/.config/x.yaml',
    '.editorconfig',
    'gitlab-ci.yml',
    'docs/owners',
  ])('%s may be touched', (path) => {
    expect(judge(path)).toBeNull()
  })

  test.each<[string, string]>([
    ['', 'path_not_canonical'],
    ['/etc/passwd', 'path_not_canonical'],
    ['dir/', 'path_not_canonical'],
    ['a//b', 'path_not_canonical'],
    ['./a', 'path_not_canonical'],
    ['a/./b', 'path_not_canonical'],
    ['a/../b', 'path_not_canonical'],
    ['..', 'path_not_canonical'],
    ['a\\b', 'path_not_canonical'],
    ['C:/x', 'path_not_canonical'],
    ['a\nb', 'path_not_canonical'],
    ['a\u0000b', 'path_not_canonical'],
    ['a\u200db', 'path_not_canonical'],
    ['a\u202eb', 'path_not_canonical'],
    ['\ufeffa', 'path_not_canonical'],
    ['e\u0301', 'path_not_canonical'],
    ['\ud800', 'path_not_canonical'],
    [' a', 'path_not_canonical'],
    ['a ', 'path_not_canonical'],
    ['a /b', 'path_not_canonical'],
    ['a.', 'path_not_canonical'],
    ['docs/%2e%2e/x', 'path_not_canonical'],
    ['x'.repeat(256), 'path_not_canonical'],
    [`${'a/'.repeat(32)}b`, 'path_not_canonical'],
    [`${'a/'.repeat(600)}b`, 'path_not_canonical'],
    ['.git/config', 'path_reserved'],
    ['sub/.GIT/hooks/x', 'path_reserved'],
    ['.gitconfig', 'path_reserved'],
    ['.GitLab/x', 'path_reserved'],
    ['git~1/config', 'path_reserved'],
    ['GI7EBA~1', 'path_reserved'],
    ['CODEOW~1', 'path_reserved'],
    ['GITLAB~1.YML', 'path_reserved'],
    ['con', 'path_reserved'],
    ['x/NUL.txt', 'path_reserved'],
    ['com1', 'path_reserved'],
    ['naïve.txt', 'path_characters'],
    ['a$(x)', 'path_characters'],
    ['\u0441ode/x', 'path_characters'],
  ])('%j is refused as %s', (path, code) => {
    expect(judge(path)).toBe(code)
  })

  test('may hold other letters where the project says so', () => {
    expect(judge('naïve/[slug].tsx', { any_characters_in_paths: true })).toBeNull()
    expect(judge('a\u200bb', { any_characters_in_paths: true })).toBe('path_not_canonical')
  })
})

describe('the block list', () => {
  test.each(DEFAULT_BLOCK_LIST)('%s blocks what it is there for', (pattern) => {
    expect(judge(BLOCKED[pattern])).toBe('path_blocked')
  })

  test.each(DEFAULT_BLOCK_LIST)('%s can be lifted alone', (pattern) => {
    expect(judge(BLOCKED[pattern], { unblock_paths: [pattern] })).toBeNull()
    expect(judge('.tekton/push.yaml', { unblock_paths: [pattern] })).toBe(
      pattern === '.tekton/**' ? null : 'path_blocked',
    )
  })

  test.each<[string, string]>([
    ['ci/**', 'ci/a/b.yml'],
    ['ci/**', 'CI/x'],
    ['ci/**', 'ci'],
    ['ci', 'ci/x'],
    ['deploy/prod/*.yml', 'deploy/prod/x.yml'],
    ['deploy/prod/*.yml', 'deploy'],
    ['deploy/prod/*.yml', 'deploy/prod'],
    ['**/Makefile', 'Makefile/x'],
    ['**/Makefile', 'a/makefile'],
  ])('of a project with %s blocks %s', (pattern, path) => {
    expect(judge(path, { block_paths: [pattern] })).toBe('path_blocked')
  })

  test('leaves neighbours alone', () => {
    for (const path of ['cid/x', 'deploy/prod.yml', 'deploy/staging/x.yml']) {
      expect(judge(path, { block_paths: ['ci/**', 'deploy/prod/*.yml'] })).toBeNull()
    }
  })
})

describe('a directory at the top that begins with a dot', () => {
  test.each(['.config/x.yaml', '.newtool/run.sh', '..hidden/file'])('may not be touched unasked: %s', (path) => {
    expect(judge(path)).toBe('path_dot_directory')
  })

  test('may be touched where the project lists it, by its exact name', () => {
    const project = { dot_directories: ['.config'] }
    expect(judge('.config/x.yaml', project)).toBeNull()
    for (const path of ['.Config/x.yaml', '.config2/x.yaml']) expect(judge(path, project)).toBe('path_dot_directory')
    expect(judge('.config/.npmrc', project)).toBe('path_blocked')
  })
})

describe('an allow list', () => {
  const project = { allow_paths: ['docs/**', '*.md'] }
  test.each<[string, string | null]>([
    ['docs/a/b.txt', null],
    ['docs/.hidden', null],
    ['README.md', null],
    ['src/a.ts', 'path_not_allowed'],
    ['sub/README.md', 'path_not_allowed'],
    ['DOCS/a', 'path_not_allowed'],
    ['docs/CODEOWNERS', 'path_blocked'],
    ['docs/../src/a.ts', 'path_not_canonical'],
  ])('judges %s as %s', (path, code) => {
    expect(judge(path, project)).toBe(code)
  })
})

/** Every way of writing a path that a file system, Git or GitLab may read as the same file. */
const RESPELLINGS: readonly ((path: string, at: number) => string)[] = [
  (path) => path,
  (path) => path.toUpperCase(),
  (path, at) => path.slice(0, at) + path.slice(at).toUpperCase(),
  (path) => `./${path}`,
  (path) => `/${path}`,
  (path) => `x/../${path}`,
  (path) => `${path}/`,
  (path) => `${path}/.`,
  (path) => `${path}.`,
  (path) => `${path} `,
  (path) => `${path}::$DATA`,
  (path) => `${path}/below`,
  (path) => path.replace('/', '//'),
  (path) => path.replace('/', '/./'),
  (path) => path.replace('/', '\\'),
  (path) => path.replace('/', ' /'),
  (path) => path.replace('/', './'),
  (path) => path.normalize('NFD'),
  (path, at) => respellAt(path, at, (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`),
  // Full-width forms, which some systems take for the plain ones.
  (path, at) => respellAt(path, at, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
  (path) => path.replace(/s/i, '\u017f'),
  (path) => path.replace(/k/i, '\u212a'),
  (path) => path.replace(/i/, '\u0131'),
  (path) => path.replace(/^\.?([^./~]{1,6})[^./]*(\.\w{1,3})?/, '$1~1$2'),
  ...['\u200b', '\u200d', '\ufeff', '\u00ad', '\u2060', '\0', '\n', '\u034f', '\ufe0f'].map(
    (invisible) => (path: string, at: number) => path.slice(0, at) + invisible + path.slice(at),
  ),
]

function respellAt(path: string, at: number, respell: (letter: string) => string): string {
  const letter = path.charAt(at)
  return /^[!-~]$/.test(letter) ? path.slice(0, at) + respell(letter) + path.slice(at + 1) : path
}

const blockedSpelling = fc
  .tuple(
    fc.constantFrom(...Object.values(BLOCKED), '.git/config', '.git/hooks/pre-commit'),
    fc.array(fc.tuple(fc.constantFrom(...RESPELLINGS), fc.nat(30)), { maxLength: 3 }),
  )
  .map(([path, steps]) => steps.reduce((text, [respell, at]) => respell(text, Math.min(at, text.length)), path))

test('no spelling of a blocked path gets through', () => {
  fc.assert(
    fc.property(blockedSpelling, fc.boolean(), (path, any_characters_in_paths) => {
      expect(judge(path, { any_characters_in_paths })).not.toBeNull()
    }),
    { numRuns: 3_000 },
  )
})

test('what gets through is the path that GitLab commits, and no blocked one', () => {
  const part = fc.constantFrom('.', '..', '', 'a', '.git', 'CODEOWNERS', 'codeowners', '.gitlab', 'x ', '.npmrc', 'a.b')
  const path = fc.array(part, { maxLength: 6 }).map((parts) => parts.join('/'))
  fc.assert(
    fc.property(path, (given) => {
      if (judge(given) !== null) return
      const committed = posix.normalize(given).replace(/^\//, '')
      expect(committed).toBe(given)
      const segments = given.toLowerCase().split('/')
      expect(segments[0]).not.toBe('.gitlab')
      for (const segment of segments) expect(segment).not.toMatch(/^(\.git|codeowners|\.npmrc)$/)
    }),
    { numRuns: 3_000 },
  )
})

test('judging never throws, whatever the path', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), fc.boolean(), (path, any_characters_in_paths) => {
      judge(path, { any_characters_in_paths })
    }),
  )
})
