/** What GitLab promises about projects, branches, commits, files and comparisons. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ContractProject, clientFor, createContractProject, refusalOf } from './gitlab-client.ts'
import { type GitLabTarget, openGitLabTarget } from './gitlab-target.ts'

let target: GitLabTarget
let project: ContractProject

beforeAll(async () => {
  target = await openGitLabTarget()
  project = await createContractProject(target, 'repository')
})

afterAll(() => target.close())

describe('projects and users', () => {
  test('a project is found by number and by path', async () => {
    const { owner, id, path } = project
    const byId = await owner.Projects.show(id)
    expect(await owner.Projects.show(path)).toMatchObject({ id, path_with_namespace: path })
    expect(byId).toMatchObject({ default_branch: 'main', archived: false, merge_method: 'merge' })
    expect(byId['permissions']).toMatchObject({ project_access: { access_level: expect.any(Number) } })
  })

  test('a missing project answers 404 by name, a bad token 401', async () => {
    expect(await refusalOf(project.owner.Projects.show('no/such-project'))).toEqual({
      status: 404,
      text: '404 Project Not Found',
    })
    const stranger = clientFor(target.url, 'wrong-token')
    expect(await refusalOf(stranger.Projects.show(project.id))).toMatchObject({ status: 401 })
  })

  test('the token tells whose it is', async () => {
    const user = await project.developer.Users.showCurrentUser()
    expect(user).toMatchObject({ id: target.developer.id, state: 'active' })
  })
})

describe('branches', () => {
  test('are made, read, listed and removed, with slashes in their names', async () => {
    const { owner, id } = project
    const made = await owner.Branches.create(id, 'topic/one', 'main')
    expect(made).toMatchObject({ name: 'topic/one', merged: expect.any(Boolean), protected: false, default: false })
    expect(await owner.Branches.show(id, 'topic/one')).toMatchObject({ commit: { id: made.commit.id } })
    expect((await owner.Branches.all(id)).map((branch) => branch.name)).toContain('topic/one')
    await owner.Branches.remove(id, 'topic/one')
    expect(await refusalOf(owner.Branches.show(id, 'topic/one'))).toEqual({
      status: 404,
      text: '404 Branch Not Found',
    })
  })

  test('refusals', async () => {
    const { owner, developer, id } = project
    expect(await refusalOf(owner.Branches.create(id, 'main', 'main'))).toMatchObject({
      status: 400,
      text: 'Branch already exists',
    })
    expect(await refusalOf(owner.Branches.create(id, 'x', 'nowhere'))).toMatchObject({
      status: 400,
      text: 'Invalid reference name: nowhere',
    })
    expect(await refusalOf(owner.Branches.remove(id, 'none'))).toMatchObject({ status: 404 })
    expect([400, 403]).toContain((await refusalOf(developer.Branches.remove(id, 'main'))).status)
  })
})

describe('commits', () => {
  test('take all five actions at once, and nothing of a commit that fails', async () => {
    const { owner, id } = project
    await project.commit('five', { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', 'run.sh': '#!/bin/sh\n' })
    const made = await owner.Commits.create(id, 'five', 'Change five things', [
      { action: 'create', filePath: 'bin/new.bin', content: 'AAEC', encoding: 'base64' },
      { action: 'update', filePath: 'a.txt', content: 'A\n' },
      { action: 'move', filePath: 'moved/b.txt', previousPath: 'b.txt' },
      { action: 'delete', filePath: 'c.txt' },
      { action: 'chmod', filePath: 'run.sh', execute_filemode: true } as never,
    ])
    expect(made).toMatchObject({ title: 'Change five things', parent_ids: [expect.any(String)] })
    expect(made.short_id).toHaveLength(8)
    const tree = await owner.Repositories.allRepositoryTrees(id, { ref: 'five', recursive: true })
    const modes = Object.fromEntries(
      tree.filter((entry) => entry.type === 'blob').map((entry) => [entry.path, entry.mode]),
    )
    expect(modes).toEqual({
      'README.md': '100644',
      'a.txt': '100644',
      'bin/new.bin': '100644',
      'moved/b.txt': '100644',
      'run.sh': '100755',
    })
    const failing = owner.Commits.create(id, 'five', 'Half', [
      { action: 'update', filePath: 'a.txt', content: 'never' },
      { action: 'delete', filePath: 'not-there.txt' },
    ])
    expect(await refusalOf(failing)).toEqual({ status: 400, text: "A file with this name doesn't exist" })
    expect((await owner.Branches.show(id, 'five')).commit.id).toBe(made.id)
  })

  test.each([
    ['create over a file', 'create', 'README.md', 'A file with this name already exists'],
    ['update of nothing', 'update', 'nothing.txt', "A file with this name doesn't exist"],
    ['a path out of the tree', 'create', '../out.txt', 'Path cannot include directory traversal'],
  ] as const)('%s is refused', async (_title, action, filePath, text) => {
    const call = project.owner.Commits.create(project.id, 'main', 'No', [{ action, filePath, content: 'x' }])
    expect(await refusalOf(call)).toEqual({ status: 400, text })
  })

  test('may start elsewhere and replace a branch, only with force', async () => {
    const { owner, id } = project
    const first = await project.commit('forced', { 'x.txt': 'x\n' })
    const base = (await owner.Branches.show(id, 'main')).commit.id
    const again = [{ action: 'create' as const, filePath: 'y.txt', content: 'y\n' }]
    const refused = await refusalOf(owner.Commits.create(id, 'forced', 'Again', again, { startSha: base }))
    expect(refused).toEqual({
      status: 400,
      text: "A branch called 'forced' already exists. Switch to that branch in order to make changes",
    })
    const made = await owner.Commits.create(id, 'forced', 'Again', again, { startSha: base, force: true })
    expect(made.parent_ids).toEqual([base])
    expect((await owner.Branches.show(id, 'forced')).commit.id).toBe(made.id)
    expect(made.id).not.toBe(first)
  })

  test('refuse a start that is not there, an empty list, and a protected branch', async () => {
    const { owner, developer, id } = project
    const actions = [{ action: 'create' as const, filePath: 'z.txt', content: 'z' }]
    const zeros = '0'.repeat(39).concat('1')
    expect(await refusalOf(owner.Commits.create(id, 'new', 'No', actions, { startSha: zeros }))).toEqual({
      status: 400,
      text: `Cannot find start_sha '${zeros}'`,
    })
    expect(await refusalOf(owner.Commits.create(id, 'nowhere', 'No', actions))).toEqual({
      status: 400,
      text: 'You can only create or edit files when you are on a branch',
    })
    expect((await refusalOf(owner.Commits.create(id, 'main', 'No', []))).status).toBe(400)
    expect(await refusalOf(developer.Commits.create(id, 'main', 'No', actions))).toEqual({
      status: 403,
      text: '403 Forbidden - You are not allowed to push into this branch',
    })
  })

  test('are listed newest first and read with their statistics', async () => {
    const { owner, id } = project
    const sha = await project.commit('listed', { 'l.txt': 'one\ntwo\n' }, 'Add two lines\n\nAnd say why.')
    const [newest] = await owner.Commits.all(id, { refName: 'listed', perPage: 1, maxPages: 1 })
    expect(newest).toMatchObject({ id: sha, title: 'Add two lines' })
    expect(await owner.Commits.show(id, sha)).toMatchObject({
      message: expect.stringContaining('And say why.'),
      stats: { additions: 2, deletions: 0, total: 2 },
    })
    expect(await refusalOf(owner.Commits.show(id, 'f'.repeat(40)))).toEqual({
      status: 404,
      text: '404 Commit Not Found',
    })
  })
})

describe('comparisons and files', () => {
  test('a three-dot comparison starts at the merge base, a straight one compares the trees', async () => {
    const { owner, id } = project
    await owner.Branches.create(id, 'side', 'main')
    await project.commit('side', { 'side.txt': 'side\n' })
    await project.commit('main', { 'main.txt': 'main\n' })
    const dots = await owner.Repositories.compare(id, 'main', 'side')
    expect(dots.commits?.map((commit) => commit.title)).toEqual(['Change side'])
    expect(dots.diffs?.map((diff) => diff.new_path)).toEqual(['side.txt'])
    const straight = await owner.Repositories.compare(id, 'main', 'side', { straight: true })
    expect(straight.diffs?.map((diff) => diff.new_path).toSorted()).toEqual(['main.txt', 'side.txt'])
    expect(await refusalOf(owner.Repositories.compare(id, 'main', 'nowhere'))).toEqual({
      status: 404,
      text: '404 Ref Not Found',
    })
  })

  test('a file comes as the bytes it has', async () => {
    const { owner, id } = project
    await project.commit('bytes', { 'deep/dir/file name.txt': 'grün\n' })
    const raw = await owner.RepositoryFiles.showRaw(id, 'deep/dir/file name.txt', 'bytes')
    expect(raw instanceof Blob ? await raw.text() : raw).toBe('grün\n')
    expect(await refusalOf(owner.RepositoryFiles.showRaw(id, 'none.txt', 'bytes'))).toEqual({
      status: 404,
      text: '404 File Not Found',
    })
  })
})
