/**
 * What the service relies on when it talks to GitLab: the port over REST, call by call. Whatever stands behind the port
 * has to pass this: the sandbox, and the GitLab that gitlab-target.ts is pointed at.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GitLab, GitLabMergeRequestFields } from '../../src/gitlab/port.ts'
import { createPrivateProject, eventually, freshName } from './gitlab-client.ts'
import { FIELDS, openPortWorld, type PortWorld } from './gitlab-port-world.ts'

const BINARY = Buffer.from([0, 255, 13, 10, 7])

let world: PortWorld
let gitlab: GitLab
let projectId: number
let branch: string
let last = 0

beforeAll(async () => {
  world = await openPortWorld()
  gitlab = world.gitlab
  projectId = world.project.id
  await world.project.owner.Commits.create(projectId, 'main', 'Add files', [
    { action: 'create', filePath: 'src/a.txt', content: 'a\n' },
    { action: 'create', filePath: 'src/b.txt', content: 'b\n' },
    { action: 'create', filePath: 'bin/run', content: '#!/bin/sh\n', execute_filemode: true },
  ])
})
afterAll(() => world.target.close())

beforeEach(() => {
  last += 1
  branch = `contract/branch-${last}`
})

const commit = (files?: Readonly<Record<string, string>>) => world.commit(branch, files)
const open = (fields?: Partial<GitLabMergeRequestFields>) => world.open(branch, fields)

describe('projects and users', () => {
  test('a project is found by number, and by path in any case', async () => {
    const byNumber = await gitlab.getProject(projectId)
    expect(byNumber).toMatchObject({ id: projectId, defaultBranch: 'main', archived: false, mergeMethod: 'merge' })
    expect(await gitlab.getProject(world.project.path.toUpperCase())).toEqual(byNumber)
  })

  test('a missing project and one that the token may not see are null', async () => {
    expect(await gitlab.getProject('group/nowhere')).toBeNull()
    const { id } = await createPrivateProject(world.target, 'unseen')
    expect(await world.portFor(world.target.developer.token).getProject(id)).toBeNull()
  })

  test('a bad token is told from a missing project', async () => {
    await expect(world.portFor('no-such-token').getProject(projectId)).rejects.toMatchObject({
      code: 'gitlab_unauthorized',
    })
  })

  test('a user is found by exactly this name', async () => {
    expect(await gitlab.getUserId(world.target.developer.username.toUpperCase())).toBe(world.target.developer.id)
    expect(await gitlab.getUserId(`${world.target.developer.username}-and-more`)).toBeNull()
  })

  test('a token says whose it is, and which address its commits carry', async () => {
    const own = await world.portFor(world.target.developer.token).getOwnUser()
    expect(own).toEqual({ id: world.target.developer.id, commitEmail: expect.stringContaining('@') })
  })

  test('how a project squashes and merges is what its settings say', async () => {
    const { id, owner } = await createPrivateProject(world.target, 'settings')
    expect(await gitlab.getProject(id)).toMatchObject({ squashOption: 'default_off', mergeMethod: 'merge' })
    await owner.Projects.edit(id, { squashOption: 'always', mergeMethod: 'rebase_merge' })
    expect(await gitlab.getProject(id)).toMatchObject({ squashOption: 'always', mergeMethod: 'rebase_merge' })
  })

  test('a member of a group is one of the groups below it too', async ({ skip }) => {
    if (world.target.groupId === null) return skip('groups need a group to be made in (GITLAB_CONTRACT_GROUP)')
    const { owner } = world.project
    const above = await owner.Groups.create('Above', freshName('above'), { parentId: world.target.groupId })
    world.target.removeLater(() => owner.Groups.remove(above.id))
    const below = await owner.Groups.create('Below', freshName('below'), { parentId: above.id })
    const path = String(below['full_path'])
    const member = (userId: number) => gitlab.isGroupMember(path, userId)
    expect(await member(world.target.developer.id)).toBe(false)
    await owner.GroupMembers.add(above.id, 30, { userId: world.target.developer.id })
    expect(
      await eventually(
        () => member(world.target.developer.id),
        (is) => is,
      ),
    ).toBe(true)
    expect(await gitlab.isGroupMember(`${path}/nowhere`, world.target.developer.id)).toBe(false)
  })
})

describe('branches, trees and commits', () => {
  test('a missing branch is null, and deleting it is no error', async () => {
    expect(await gitlab.getBranch(projectId, 'no/such')).toBeNull()
    await gitlab.deleteBranch(projectId, 'no/such')
  })

  test('a branch shows its head, with parents and the whole message', async () => {
    const parent = await world.mainHead()
    const sha = await commit()
    expect(await gitlab.getBranch(projectId, branch)).toMatchObject({
      sha,
      protected: false,
      default: false,
      parentShas: [parent],
      headMessage: 'Add it\n\nWorkqueue-Item: 1\n',
      committerEmail: (await gitlab.getOwnUser()).commitEmail,
      committedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    })
    await gitlab.deleteBranch(projectId, branch)
    expect(await gitlab.getBranch(projectId, branch)).toBeNull()
  })

  test('the default branch says what it is', async () => {
    expect(await gitlab.getBranch(projectId, 'main')).toMatchObject({ default: true, protected: true })
  })

  test('a commit takes all actions and forces the branch onto its start', async () => {
    const first = await commit()
    const startSha = await world.mainHead()
    const made = await gitlab.createCommit(projectId, {
      branch,
      startSha,
      message: 'All at once',
      actions: [
        { action: 'create', file_path: 'new.bin', content: BINARY.toString('base64'), encoding: 'base64' },
        { action: 'create', file_path: 'new.sh', content: '', execute_filemode: true },
        { action: 'update', file_path: 'README.md', content: 'new\n', encoding: 'text' },
        { action: 'delete', file_path: 'src/b.txt' },
        { action: 'move', file_path: 'src/c.txt', previous_path: 'src/a.txt' },
        { action: 'chmod', file_path: 'bin/run', execute_filemode: false },
      ],
      force: true,
    })
    const { sha } = made
    expect(made).toEqual({ sha, parentShas: [startSha] })
    const head = await gitlab.getBranch(projectId, branch)
    expect(head).toMatchObject({ sha, parentShas: [startSha] })
    expect(sha).not.toBe(first)
    const root = await gitlab.listTree(projectId, '', sha)
    expect(root.find(({ path }) => path === 'new.sh')).toMatchObject({ mode: '100755', type: 'blob' })
    expect((await gitlab.listTree(projectId, 'src', sha)).map(({ path }) => path)).toEqual(['src/c.txt'])
    expect((await gitlab.listTree(projectId, 'bin', sha))[0]).toMatchObject({ mode: '100644' })
    const compare = await gitlab.compare(projectId, startSha, sha, true)
    expect(compare).toMatchObject({ commitCount: 1, timedOut: false })
    const moved = compare.diffs.find(({ renamedFile }) => renamedFile)
    expect(moved).toMatchObject({ oldPath: 'src/a.txt', newPath: 'src/c.txt' })
  })

  test('a directory that does not exist lists nothing', async () => {
    expect(await gitlab.listTree(projectId, 'no/such', 'main')).toEqual([])
    expect(await gitlab.listTree(projectId, 'README.md', 'main')).toEqual([])
  })

  test("a commit that cannot be made is refused for good, with GitLab's own sentence", async () => {
    await expect(commit({ 'README.md': 'x\n' })).rejects.toMatchObject({
      code: 'gitlab_rejected',
      failure: 'permanent',
      answer: 'A file with this name already exists',
    })
    expect(await gitlab.getBranch(projectId, branch)).toBeNull()
  })
})

describe('merge requests', () => {
  test('are created with all they were given, and found by their branches while they are open', async () => {
    const sha = await commit()
    const created = await open({ reviewerIds: [world.target.developer.id], squash: true })
    expect(created).toMatchObject({
      projectId,
      state: 'opened',
      title: FIELDS.title,
      description: FIELDS.description,
      sourceBranch: branch,
      targetBranch: 'main',
      squash: true,
      removeSourceBranch: true,
      reviewerIds: [world.target.developer.id],
      mergedAt: null,
    })
    expect([...created.labels].sort()).toEqual(['bot', 'docs'])
    expect((await world.settled(created.iid)).sha).toBe(sha)
    expect((await gitlab.findOpenMergeRequest(projectId, branch, 'main'))?.iid).toBe(created.iid)
    await gitlab.updateMergeRequest(projectId, created.iid, { stateEvent: 'close' })
    expect(await gitlab.findOpenMergeRequest(projectId, branch, 'main')).toBeNull()
  })

  test('exist once for a pair of branches', async () => {
    await commit()
    await open()
    await expect(open()).rejects.toMatchObject({ code: 'merge_request_exists', status: 409 })
  })

  test('of a branch that is not there are refused as transient', async () => {
    await expect(open()).rejects.toMatchObject({ code: 'source_branch_missing', failure: 'transient' })
  })

  test('take changes, and lists that are emptied', async () => {
    await commit()
    const { iid } = await open({ assigneeIds: [world.target.developer.id] })
    const changed = await gitlab.updateMergeRequest(projectId, iid, {
      title: 'Other',
      addLabels: ['new'],
      assigneeIds: [],
    })
    expect(changed).toMatchObject({ title: 'Other', assigneeIds: [], description: FIELDS.description })
    expect([...changed.labels].sort()).toEqual(['bot', 'docs', 'new'])
  })

  test('are closed and opened again', async () => {
    await commit()
    const { iid } = await open()
    expect((await gitlab.updateMergeRequest(projectId, iid, { stateEvent: 'close' })).state).toBe('closed')
    expect((await gitlab.updateMergeRequest(projectId, iid, { stateEvent: 'reopen' })).state).toBe('opened')
  })

  test('that do not exist are null', async () => {
    expect(await gitlab.getMergeRequest(projectId, 999_999)).toBeNull()
  })

  test('show the pipeline of their head, and what kind it is', async () => {
    const job = { name: 'unit', stage: 'test', prints: 'ok', ends: 'green' } as const
    const { path, content } = world.target.pipelineFile([job])
    const sha = await commit({ [path]: content })
    const { iid } = await open()
    const pipeline = await world.headPipeline(iid)
    expect(pipeline).toMatchObject({
      sha,
      projectId,
      source: 'merge_request_event',
      ref: `refs/merge-requests/${iid}/head`,
    })
    expect(await gitlab.listBridges(projectId, Number(pipeline?.id))).toEqual([])
    if (world.target.runsJobs) await world.headPipeline(iid, ({ status }) => status === 'success')
  })

  test('are merged at exactly this head', async () => {
    const sha = await commit()
    const { iid } = await open()
    await world.settled(iid)
    const wrong = await gitlab.mergeMergeRequest(projectId, iid, {
      sha: await world.mainHead(),
      squash: false,
      removeSourceBranch: true,
    })
    expect(wrong).toMatchObject({ merged: false, status: 409, message: expect.stringContaining('SHA does not match') })
    const answer = await gitlab.mergeMergeRequest(projectId, iid, { sha, squash: false, removeSourceBranch: true })
    expect(answer).toMatchObject({ merged: true, mergeRequest: { state: 'merged' } })
    const after = await gitlab.getMergeRequest(projectId, iid)
    expect(after).toMatchObject({ state: 'merged', mergeCommitSha: await world.mainHead() })
    expect(after?.mergedAt).toMatch(/^\d{4}-/)
  })

  test('that cannot be merged answer so, without an error', async () => {
    const sha = await commit()
    const { iid } = await open({ title: 'Draft: later' })
    expect(await world.settled(iid)).toMatchObject({ draft: true, detailedMergeStatus: 'draft_status' })
    const answer = await gitlab.mergeMergeRequest(projectId, iid, { sha, squash: false, removeSourceBranch: true })
    expect(answer).toMatchObject({ merged: false, status: 405 })
  })

  test('that conflict say so once GitLab has looked', async () => {
    await commit({ 'docs/fought-over.md': 'ours\n' })
    const { iid } = await open()
    await world.project.commit('main', { 'docs/fought-over.md': 'theirs\n' })
    const conflicting = await eventually(
      () => world.settled(iid),
      ({ hasConflicts }) => hasConflicts,
    )
    expect(conflicting.detailedMergeStatus).toBe('conflict')
    expect(await gitlab.getMergeRef(projectId, iid)).toBeNull()
  })
})
