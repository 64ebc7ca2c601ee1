/**
 * The import rules of `.dependency-cruiser.cjs`, put to the test: that they read the whole program, that the program keeps
 * them, and that they still bite. A checker that reads nothing also reports success, so each rule is shown a breach.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DEPCRUISE = join(ROOT, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruiser.mjs')
const TIMEOUT_MS = 60_000

const cruiseSchema = z.object({
  modules: z.array(z.object({ source: z.string() })),
  summary: z.object({
    violations: z.array(z.object({ from: z.string(), to: z.string(), rule: z.object({ name: z.string() }) })),
  }),
})

interface Cruise {
  readonly modules: readonly string[]
  /** `rule: from → to` */
  readonly violations: readonly string[]
}

async function cruise(directory: string): Promise<Cruise> {
  const args = [DEPCRUISE, 'src', 'sandbox', '--config', '.dependency-cruiser.cjs', '--output-type', 'json']
  const { stdout } = await run(process.execPath, args, { cwd: directory, maxBuffer: 2 ** 28, timeout: TIMEOUT_MS })
  const { modules, summary } = cruiseSchema.parse(JSON.parse(stdout))
  return {
    modules: modules.map((module) => module.source),
    violations: summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`),
  }
}

async function typescriptFiles(folder: string): Promise<string[]> {
  const files = await readdir(join(ROOT, folder), { recursive: true })
  return files.filter((file) => /\.tsx?$/.test(file)).map((file) => `${folder}/${file}`)
}

describe('the program', () => {
  let found: Cruise
  beforeAll(async () => {
    found = await cruise(ROOT)
  }, TIMEOUT_MS)

  test('is read whole: every TypeScript file of src and sandbox', async () => {
    const onDisk = [...(await typescriptFiles('src')), ...(await typescriptFiles('sandbox'))]
    expect(onDisk.length).toBeGreaterThan(50)
    expect(onDisk.filter((file) => !found.modules.includes(file))).toEqual([])
  })

  test('keeps every import rule', () => {
    expect(found.violations).toEqual([])
  })
})

/** A small tree that keeps all rules, with every import that is allowed and could be mistaken for a breach. */
const GOOD: Readonly<Record<string, string>> = {
  'src/lib/clock.ts': 'export type Clock = () => Date',
  'src/db/database.ts': `import pg from 'pg'\nexport const pool = pg`,
  'src/queue/work-item.ts': `import type { Clock } from '../lib/clock.ts'\nexport const clock: Clock | null = null`,
  'src/queue/loop.ts': `export interface Loop {}\nexport const loop = 1`,
  'src/queue/sql/claim.ts': `import { sql } from 'kysely'\nexport const claim = sql`,
  'src/item-types/mr/store.ts': `import { sql } from 'kysely'\nexport const store = sql`,
  'src/item-types/mr/schema.ts': `import { createHash } from 'node:crypto'\nexport const schema = createHash`,
  'src/item-types/mr/decider.ts': `
    import { clock } from '../../queue/work-item.ts'
    import type { Loop } from '../../queue/loop.ts'
    import { schema } from './schema.ts'
    export const decide = [clock, schema] as Loop`,
  'src/item-types/cve/index.ts': 'export const cve = 1',
  'src/item-types/index.ts': `import { cve } from './cve/index.ts'\nexport const types = [cve]`,
  'src/app/main.ts': `import { server } from '../../sandbox/gitlab/server.ts'\nexport const app = server`,
  'src/cli/main.ts': `import { app } from '../app/main.ts'\nexport const cli = app`,
  'src/api/server.ts': `import fastify from 'fastify'\nexport const api = fastify`,
  'src/api/server.test.ts': `import { store } from '../item-types/mr/store.ts'\nexport const seen = store`,
  'sandbox/gitlab/server.ts': `import fastify from 'fastify'\nimport type { Clock } from '../../src/lib/clock.ts'
    export const server: Clock | typeof fastify = fastify`,
  'test/support/world.ts': 'export const world = 1',
}

const BREACHES: readonly [rule: string, file: string, imported: string][] = [
  ['lib-imports', 'src/lib/bad.ts', '../queue/work-item.ts'],
  ['queue-imports', 'src/queue/bad.ts', '../item-types/mr/store.ts'],
  ['queue-imports', 'src/queue/bad-type.ts', '../item-types/index.ts'],
  ['gitlab-imports', 'src/gitlab/bad.ts', '../db/database.ts'],
  ['api-imports', 'src/api/bad.ts', '../app/main.ts'],
  ['cli-imports', 'src/cli/bad.ts', '../queue/work-item.ts'],
  ['item-types-are-strangers', 'src/item-types/mr/bad.ts', '../cve/index.ts'],
  ['pure-files-stay-pure', 'src/item-types/cve/decider.ts', '../../db/database.ts'],
  ['pure-files-stay-pure', 'src/item-types/cve/inspection/bad.ts', '../index.ts'],
  ['pure-files-take-only-types-of-queue', 'src/item-types/cve/identity.ts', '../../queue/loop.ts'],
  ['pure-files-do-no-io', 'src/item-types/cve/schema.ts', 'node:fs'],
  ['the-decider-comes-last', 'src/item-types/mr/dimensions.ts', './decider.ts'],
  ['home-of-pg', 'src/queue/sql/bad.ts', 'pg'],
  ['home-of-kysely', 'src/item-types/mr/executors/bad.ts', 'kysely'],
  ['home-of-gitbeaker', 'src/item-types/mr/bad-client.ts', '@gitbeaker/rest'],
  ['home-of-fastify', 'src/app/bad.ts', '@fastify/helmet'],
  ['home-of-commander', 'src/app/bad-cli.ts', 'commander'],
  ['home-of-p-queue', 'src/events/bad.ts', 'p-queue'],
  ['home-of-pino', 'src/api/bad-log.ts', 'pino'],
  ['home-of-vitest', 'src/db/bad.ts', 'vitest'],
  ['sandbox-is-started-by-app', 'src/gitlab/bad-double.ts', '../../sandbox/gitlab/server.ts'],
  ['sandbox-imports', 'sandbox/gitlab/bad.ts', '../../src/api/server.ts'],
  ['tests-are-not-imported', 'src/db/bad-support.ts', '../../test/support/world.ts'],
  ['no-cycles', 'src/contract/bad-a.ts', './bad-b.ts'],
  ['resolvable', 'src/auth/bad.ts', './not-there.ts'],
  ['declared-dependencies', 'src/audit/bad.ts', 'typescript'],
  ['every-file-has-a-room', 'src/helpers/bad.ts', '../lib/clock.ts'],
]

describe('the rules', () => {
  let directory: string
  let clean: Cruise
  let breached: Cruise

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'workqueue-architecture-'))
    for (const file of ['package.json', 'tsconfig.json', '.dependency-cruiser.cjs']) {
      await cp(join(ROOT, file), join(directory, file))
    }
    await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'), 'dir')
    for (const [file, source] of Object.entries(GOOD)) await plant(file, source)
    clean = await cruise(directory)
    for (const [, file, imported] of BREACHES) {
      await plant(file, `import * as it from '${imported}'\nexport const bad = it`)
    }
    await plant('src/contract/bad-b.ts', `import { bad } from './bad-a.ts'\nexport const b = bad`)
    await plant(
      'src/queue/bad-type.ts',
      `import type { types } from '../item-types/index.ts'\nexport type T = typeof types`,
    )
    breached = await cruise(directory)
  }, TIMEOUT_MS)

  afterAll(() => rm(directory, { recursive: true, force: true }))

  async function plant(file: string, source: string): Promise<void> {
    await mkdir(dirname(join(directory, file)), { recursive: true })
    await writeFile(join(directory, file), source)
  }

  test('leave a tree alone that keeps them', () => {
    expect(clean.modules).toEqual(expect.arrayContaining(Object.keys(GOOD).filter((file) => !file.startsWith('test/'))))
    expect(clean.violations).toEqual([])
  })

  test.each(BREACHES)('%s is broken by %s importing %s', (rule, file) => {
    expect(breached.violations).toContainEqual(expect.stringContaining(`${rule}: ${file} → `))
  })
})
