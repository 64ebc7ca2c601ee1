/**
 * What the service relies on when it talks to GitLab: the port over REST, call by call, against the sandbox. Whatever
 * stands behind the port has to pass this.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../sandbox/gitlab/test-server.ts'
import { createGitLab } from '../../src/gitlab/create-gitlab.ts'
import type { GitLab, GitLabMergeRequest, GitLabMergeRequestFields } from '../../src/gitlab/port.ts'

const FIELDS: GitLabMergeRequestFields = {
  title: 'A change',
  description: 'What it is for.\n',
  labels: ['docs', 'bot'],
  assigneeIds: [],
  reviewerIds: [],
  squash: false,
  removeSourceBranch: true,
}
const BINARY = Buffer.from([0, 255, 13, 10, 7])

let server: TestServer
let gitlab: GitLab
let projectId: number
let branch: string
let last = 0

beforeAll(async () => {
  server = await startTestServer({
    files: {
      'README.md': '# Widgets\n',
      'src/a.txt': 'a\n',
      'src/b.txt': 'b\n',
      'bin/run': { content: '#!/bin/sh\n', executable: true },
      '.sandbox-ci.yml': 'stages: [test]\njobs:\n  unit: { stage: test, seconds: 1 }\n',
    },
  })
  gitlab = createGitLab({ url: server.url, token: 'token-of-maintainer', timeoutMs: 10_000 })
  projectId = server.project.id
})
afterAll(() => server.remove())

beforeEach(() => {
  last += 1
  branch = `contract/branch-${last}`
})

async function mainHead(): Promise<string> {
  const main = await gitlab.getBranch(projectId, 'main')
  if (main === null) throw new Error('no main')
  return main.sha
}

async function commit(file = `docs/${branch}.md`, content = 'x\n'): Promise<string> {
  const { sha } = await gitlab.createCommit(projectId, {
    branch,
    startSha: await mainHead(),
    message: 'Add it\n\nWorkqueue-Item: 1\n',
    actions: [{ action: 'create', file_path: file, content }],
    force: true,
  })
  return sha
}

async function open(fields: Partial<GitLabMergeRequestFields> = {}): Promise<GitLabMergeRequest> {
  return gitlab.createMergeRequest(projectId, { sourceBranch: branch, targetBranch: 'main' }, { ...FIELDS, ...fields })
}

/** Reads until GitLab has made up its mind. */
async function settled(iid: number): Promise<GitLabMergeRequest> {
  for (let look = 0; look < 10; look += 1) {
    const mergeRequest = await gitlab.getMergeRequest(projectId, iid)
    if (mergeRequest === null) throw new Error(`no merge request ${iid}`)
    if (!['unchecked', 'checking', 'preparing'].includes(mergeRequest.detailedMergeStatus)) return mergeRequest
    await server.pass(5_000)
  }
  throw new Error(`merge request ${iid} does not settle`)
}

describe('projects and users', () => {
  test('a project is found by number, and by path in any case', async () => {
    const byNumber = await gitlab.getProject(projectId)
    expect(byNumber).toMatchObject({ id: projectId, defaultBranch: 'main', archived: false, mergeMethod: 'merge' })
    expect(await gitlab.getProject(server.project.pathWithNamespace.toUpperCase())).toEqual(byNumber)
  })

  test('a missing project and one that the token may not see are null', async () => {
    expect(await gitlab.getProject('group/nowhere')).toBeNull()
    const stranger = createGitLab({ url: server.url, token: 'token-of-stranger', timeoutMs: 10_000 })
    expect(await stranger.getProject(projectId)).toBeNull()
  })

  test('a bad token is told from a missing project', async () => {
    const nobody = createGitLab({ url: server.url, token: 'no-such-token', timeoutMs: 10_000 })
    await expect(nobody.getProject(projectId)).rejects.toMatchObject({ code: 'gitlab_unauthorized' })
  })

  test('a user is found by exactly this name', async () => {
    expect(await gitlab.getUserId('Developer')).toBe(server.users.developer.id)
    expect(await gitlab.getUserId('develop')).toBeNull()
  })
})

describe('branches, trees and commits', () => {
  test('a missing branch is null, and deleting it is no error', async () => {
    expect(await gitlab.getBranch(projectId, 'no/such')).toBeNull()
    await gitlab.deleteBranch(projectId, 'no/such')
  })

  test('a branch shows its head, with parents and the whole message', async () => {
    const parent = await mainHead()
    const sha = await commit()
    expect(await gitlab.getBranch(projectId, branch)).toMatchObject({
      sha,
      protected: false,
      default: false,
      parentShas: [parent],
      headMessage: 'Add it\n\nWorkqueue-Item: 1\n',
      committerEmail: (await gitlab.getOwnUser()).commitEmail,
    })
    await gitlab.deleteBranch(projectId, branch)
    expect(await gitlab.getBranch(projectId, branch)).toBeNull()
  })

  test('the default branch says what it is', async () => {
    expect(await gitlab.getBranch(projectId, 'main')).toMatchObject({ default: true, protected: true })
  })

  test('a commit takes all actions and forces the branch onto its start', async () => {
    const first = await commit()
    const startSha = await mainHead()
    const { sha } = await gitlab.createCommit(projectId, {
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
    await expect(commit('README.md')).rejects.toMatchObject({
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
    const created = await open({ reviewerIds: [server.users.developer.id], squash: true })
    expect(created).toMatchObject({
      projectId,
      state: 'opened',
      title: FIELDS.title,
      description: FIELDS.description,
      sourceBranch: branch,
      targetBranch: 'main',
      squash: true,
      removeSourceBranch: true,
      reviewerIds: [server.users.developer.id],
      mergedAt: null,
    })
    expect([...created.labels].sort()).toEqual(['bot', 'docs'])
    expect((await settled(created.iid)).sha).toBe(sha)
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
    const { iid } = await open({ assigneeIds: [server.users.developer.id] })
    const changed = await gitlab.updateMergeRequest(projectId, iid, { title: 'Other', labels: [], assigneeIds: [] })
    expect(changed).toMatchObject({ title: 'Other', labels: [], assigneeIds: [], description: FIELDS.description })
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

  test('show the pipeline of their head', async () => {
    const sha = await commit()
    const { iid } = await open()
    await server.pass(60_000)
    expect((await settled(iid)).headPipeline).toMatchObject({ sha, status: 'success' })
  })

  test('are merged at exactly this head', async () => {
    const sha = await commit()
    const { iid } = await open()
    await settled(iid)
    const wrong = await gitlab.mergeMergeRequest(projectId, iid, {
      sha: await mainHead(),
      squash: false,
      removeSourceBranch: true,
    })
    expect(wrong).toMatchObject({ merged: false, status: 409, message: expect.stringContaining('SHA does not match') })
    const answer = await gitlab.mergeMergeRequest(projectId, iid, { sha, squash: false, removeSourceBranch: true })
    expect(answer).toMatchObject({ merged: true, mergeRequest: { state: 'merged' } })
    const after = await gitlab.getMergeRequest(projectId, iid)
    expect(after).toMatchObject({ state: 'merged', mergeCommitSha: await mainHead() })
    expect(after?.mergedAt).toMatch(/^\d{4}-/)
  })

  test('that cannot be merged answer so, without an error', async () => {
    const sha = await commit()
    const { iid } = await open({ title: 'Draft: later' })
    expect(await settled(iid)).toMatchObject({ draft: true, detailedMergeStatus: 'draft_status' })
    const answer = await gitlab.mergeMergeRequest(projectId, iid, { sha, squash: false, removeSourceBranch: true })
    expect(answer).toMatchObject({ merged: false, status: 405 })
  })

  test('that conflict say so once GitLab has looked', async () => {
    await commit('docs/fought-over.md', 'ours\n')
    const { iid } = await open()
    await server.commit('main', { 'docs/fought-over.md': 'theirs\n' })
    expect(await settled(iid)).toMatchObject({ detailedMergeStatus: 'conflict', hasConflicts: true })
  })
})

describe('notes', () => {
  test('are written, listed with their author, and edited', async () => {
    await commit()
    const { iid } = await open()
    const id = await gitlab.createNote(projectId, iid, 'Waiting for CI.')
    const own = await gitlab.getOwnUser()
    const comments = async () => (await gitlab.listNotes(projectId, iid)).filter(({ system }) => !system)
    expect(await comments()).toMatchObject([{ id, body: 'Waiting for CI.', authorId: own.id }])
    expect(await gitlab.updateNote(projectId, iid, id, 'Waiting for a review.')).toBe(true)
    expect(await comments()).toMatchObject([{ id, body: 'Waiting for a review.' }])
  })

  test('that are gone cannot be edited, which is no error', async () => {
    await commit()
    const { iid } = await open()
    expect(await gitlab.updateNote(projectId, iid, 999_999, 'x')).toBe(false)
  })
})

describe('what is asked before a merge', () => {
  test('the merge that would be made: on the target, of the head', async () => {
    const head = await commit()
    const { iid } = await open()
    const sha = await gitlab.getMergeRef(projectId, iid)
    expect(await gitlab.getCommit(projectId, String(sha))).toEqual({ sha, parentShas: [await mainHead(), head] })
    const { diffs, timedOut } = await gitlab.compare(projectId, await mainHead(), String(sha), true)
    expect({ paths: diffs.map(({ newPath }) => newPath), timedOut }).toEqual({
      paths: [`docs/${branch}.md`],
      timedOut: false,
    })
  })

  test('a commit that does not exist is null', async () => {
    expect(await gitlab.getCommit(projectId, 'f'.repeat(40))).toBeNull()
  })

  test('who has approved', async () => {
    await commit()
    const { iid } = await open()
    expect((await gitlab.getApprovals(projectId, iid)).approvedBy).toEqual([])
    await server.call('POST', `/merge_requests/${iid}/approve`, undefined, 'developer')
    const { approvedBy } = await gitlab.getApprovals(projectId, iid)
    expect(approvedBy).toMatchObject([{ username: 'developer', approvedAt: expect.stringMatching(/^\d{4}-/) }])
  })

  test('a file as it is at a ref, bytes and all; null where there is none', async () => {
    const sha = await commit('docs/bytes.md', 'ä\n')
    expect((await gitlab.getFile(projectId, 'docs/bytes.md', sha))?.content).toEqual(Buffer.from('ä\n'))
    expect(await gitlab.getFile(projectId, 'docs/none.md', sha)).toBeNull()
  })

  test('what a pipeline has started elsewhere: here, nothing', async () => {
    await commit()
    const { iid } = await open()
    const pipeline = (await settled(iid)).headPipeline
    expect(pipeline).toMatchObject({ source: expect.any(String), ref: expect.any(String) })
    expect(await gitlab.listBridges(projectId, Number(pipeline?.id))).toEqual([])
  })
})
