/**
 * The lint rules the house leans on, each shown a breach, so that an upgrade or a slip in the configuration that silences
 * one is noticed. The type-aware ones are shown types from elsewhere: those are the ones a linter can lose.
 */
import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TIMEOUT_MS = 60_000

const LONG_FUNCTION = `export function long(): void {\n${'  Math.random()\n'.repeat(82)}}`

const BREACHES: readonly [rule: string, file: string, source: string][] = [
  ['noFloating: our own', 'own.ts', `import { port } from './port.ts'\nport.call()`],
  ['noFloating: of the runtime', 'runtime.ts', `import { readFile } from 'node:fs/promises'\nreadFile('x')`],
  ['noFloating: of a query', 'query.ts', `import { db } from './port.ts'\ndb.deleteFrom('t').execute()`],
  [
    'noMisused: as a condition',
    'condition.ts',
    `import { port } from './port.ts'\nexport const x = port.call() ? 1 : 2`,
  ],
  [
    'noMisused: as a callback',
    'callback.ts',
    `import { port } from './port.ts'\nsetTimeout(async () => port.call(), 1)`,
  ],
  ['switch', 'switch.ts', `import { phase } from './port.ts'\nswitch (phase) { case 'a': console.log(1) }`],
  ['noConsole', 'console.ts', `console.log(1)`],
  ['noProcessEnv', 'env.ts', `export const home = process.env['HOME']`],
  ['noExplicitAny', 'any.ts', `export function any(x: any) { return x }`],
  ['noNonNullAssertion', 'non-null.ts', `export const first = [1][0]!`],
  ['noDefaultExport', 'default.ts', `export default 1`],
  ['useImportType', 'import-type.ts', `import { Port } from './port.ts'\nexport type P = Port`],
  ['noExcessiveLinesPerFunction', 'long-function.ts', LONG_FUNCTION],
  ['noExcessiveLinesPerFile', 'long-file.ts', `export const x = 1\n${'x.toString()\n'.repeat(400)}`],
  ['noUnusedVariables', 'unused.ts', `const unused = 1`],
]

const REPORTED_AS: Readonly<Record<string, string>> = {
  noFloating: 'no-floating-promises',
  noMisused: 'no-misused-promises',
  switch: 'switch-exhaustiveness-check',
}

const PORT = `
import type { Kysely } from 'kysely'
export interface Port { call(): Promise<void> }
export declare const port: Port
export declare const db: Kysely<{ t: { id: string } }>
export declare const phase: 'a' | 'b'`

let directory: string
let reported: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'workqueue-lint-'))
  for (const file of ['package.json', 'tsconfig.json', 'biome.json', '.oxlintrc.json', '.gitignore']) {
    await cp(join(ROOT, file), join(directory, file))
  }
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'), 'dir')
  await plant('src/lib/port.ts', PORT)
  await plant('src/cli/console.ts', `console.log('a command may print')`)
  await plant('src/lib/long.test.ts', LONG_FUNCTION)
  for (const [, file, source] of BREACHES) await plant(`src/lib/${file}`, source)
  reported =
    lint('@biomejs/biome/bin/biome', 'lint', '--reporter=github', '--max-diagnostics=none', 'src') +
    lint('oxlint/bin/oxlint', '--type-aware', '--format=unix', 'src')
}, TIMEOUT_MS)

afterAll(() => rm(directory, { recursive: true, force: true }))

async function plant(file: string, source: string): Promise<void> {
  await mkdir(dirname(join(directory, file)), { recursive: true })
  await writeFile(join(directory, file), `${source}\n`)
}

function lint(program: string, ...args: string[]): string {
  const options = { cwd: directory, encoding: 'utf8', timeout: TIMEOUT_MS } as const
  const { stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'node_modules', program), ...args], options)
  return `${stdout}${stderr}`
}

function reports(file: string): string {
  const lines = reported.split('\n')
  return lines.filter((line) => line.includes(`src/lib/${file}`)).join('\n')
}

test.each(BREACHES)('%s is reported in %s', (rule, file) => {
  const name = rule.replace(/:.*/, '')
  expect(reports(file)).toContain(REPORTED_AS[name] ?? name)
})

test('a command may print, and a test may be one long function', () => {
  expect(reported).not.toContain('src/cli/console.ts')
  expect(reports('long.test.ts')).toBe('')
})
