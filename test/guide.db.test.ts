/**
 * Follows docs/adding-an-item-type.md to the letter: the code blocks that name a file are written into a tree beside the
 * real rooms, checked by the compiler, and the type that comes of it runs in a real queue.
 */
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GitLab, GitLabBranch, GitLabProject } from '../src/gitlab/port.ts'
import type { AnyItemType } from '../src/queue/item-type.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { createTestQueue, type TestQueue } from './support/queue.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TIMEOUT_MS = 60_000

const BRANCH: GitLabBranch = {
  name: 'old',
  sha: 'a'.repeat(40),
  protected: false,
  default: false,
  headMessage: 'old',
  parentShas: [],
  committerEmail: null,
  committedAt: null,
}

describe('the item type of the guide', () => {
  let tree: string
  let database: TestDatabase
  let running: TestQueue
  let branches: Map<string, GitLabBranch>

  beforeAll(async () => {
    const blocks = await readGuide()
    tree = await mkdtemp(join(tmpdir(), 'workqueue-guide-'))
    await plant(tree, blocks)
    database = await createTestDatabase()
    const migration = [...blocks].find(([file]) => file.startsWith('migrations/'))
    await sql.raw(migration?.[1] ?? '').execute(database.db)
    branches = new Map([
      ['old', BRANCH],
      ['release', { ...BRANCH, name: 'release', protected: true }],
    ])
    running = createTestQueue(database.db, [await loadType(tree, branches)])
    running.manager.start()
  }, TIMEOUT_MS)

  afterAll(async () => {
    await running.manager.stop()
    await database.drop()
    await rm(tree, { recursive: true, force: true })
  })

  test('satisfies the compiler', { timeout: TIMEOUT_MS }, () => {
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    const { status, stdout } = spawnSync(process.execPath, [tsc, '--noEmit', '-p', tree], { encoding: 'utf8' })
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
  })

  test('deletes a branch and says so', async () => {
    const { item, outcome } = await submit('old')
    expect(outcome).toBe('created')
    const end = await running.audit.waitForPhase(item.id, 'completed')
    expect(end.resolution).toBe('deleted')
    expect(branches.has('old')).toBe(false)
    const { presentation } = await running.queue.get(item.id)
    expect(presentation.detail).toMatchObject({ branch: 'old', head_sha: BRANCH.sha })
  })

  test('leaves a protected branch alone and fails with the reason', async () => {
    const { item } = await submit('release')
    await running.audit.waitForPhase(item.id, 'failed')
    expect((await running.queue.getItem(item.id)).lastError?.code).toBe('branch_protected')
    expect(branches.has('release')).toBe(true)
  })

  test('refuses a project that is not configured', async () => {
    const submission = { item_type: 'cleanup', project: 'team/other', branch: 'old' }
    await expect(running.queue.submit('cleanup', submission, 'a caller')).rejects.toMatchObject({
      code: 'submission_rejected',
      findings: [{ code: 'project_not_configured', path: '/project' }],
    })
  })

  function submit(branch: string) {
    return running.queue.submit('cleanup', { item_type: 'cleanup', project: 'team/app', branch }, 'a caller')
  }
})

/** File → content of every code block whose first line names a file. */
async function readGuide(): Promise<ReadonlyMap<string, string>> {
  const guide = await readFile(join(ROOT, 'docs/adding-an-item-type.md'), 'utf8')
  const blocks = [...guide.matchAll(/```(?:ts|sql)\n(?:\/\/|--) (\S+)\n([\s\S]*?)```/g)]
  expect(blocks.length).toBe(7)
  return new Map(blocks.map(([, file = '', content = '']) => [file, content]))
}

async function plant(tree: string, blocks: ReadonlyMap<string, string>): Promise<void> {
  await mkdir(join(tree, 'src/item-types'), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'), 'dir')
  for (const room of await readdir(join(ROOT, 'src'))) {
    if (room !== 'item-types') await symlink(join(ROOT, 'src', room), join(tree, 'src', room), 'dir')
  }
  await writeFile(join(tree, 'package.json'), '{ "type": "module" }')
  const tsconfig = { extends: join(ROOT, 'tsconfig.json'), include: ['src/item-types'] }
  const compilerOptions = { incremental: false, tsBuildInfoFile: null, types: ['node'], typeRoots: [typeRoots()] }
  await writeFile(join(tree, 'tsconfig.json'), JSON.stringify({ ...tsconfig, compilerOptions }))
  for (const [file, content] of blocks) {
    await mkdir(dirname(join(tree, file)), { recursive: true })
    await writeFile(join(tree, file), content)
  }
}

function typeRoots(): string {
  return join(ROOT, 'node_modules/@types')
}

async function loadType(tree: string, branches: Map<string, GitLabBranch>): Promise<AnyItemType> {
  const module = (await import(join(tree, 'src/item-types/cleanup/index.ts'))) as {
    createCleanupItemType(dependencies: object): AnyItemType
  }
  const project: Pick<GitLabProject, 'id'> = { id: 1 }
  const gitlab: Pick<GitLab, 'getBranch' | 'deleteBranch'> & { getProject: () => Promise<typeof project> } = {
    getProject: async () => project,
    getBranch: async (_project, name) => branches.get(name) ?? null,
    async deleteBranch(_project, name) {
      branches.delete(name)
    },
  }
  return module.createCleanupItemType({ gitlab, projects: ['team/app'] })
}
