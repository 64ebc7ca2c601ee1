/** What the service relies on around a merge: notes, the merge to be, approvals, files, and what a pipeline started. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GitLab, GitLabMergeRequestFields } from '../../src/gitlab/port.ts'
import { eventually } from './gitlab-client.ts'
import { openPortWorld, type PortWorld } from './gitlab-port-world.ts'

/** More than a page of them. */
const BRIDGES = 22

let world: PortWorld
let gitlab: GitLab
let projectId: number
let branch: string
let last = 0

beforeAll(async () => {
  world = await openPortWorld()
  gitlab = world.gitlab
  projectId = world.project.id
})
afterAll(() => world.target.close())

beforeEach(() => {
  last += 1
  branch = `contract/branch-${last}`
})

const commit = (files?: Readonly<Record<string, string>>) => world.commit(branch, files)
const open = (fields?: Partial<GitLabMergeRequestFields>) => world.open(branch, fields)

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

  test('tell their authors apart', async () => {
    await commit()
    const { iid } = await open()
    const developer = world.portFor(world.target.developer.token)
    const id = await developer.createNote(projectId, iid, 'Looks good.')
    const own = await gitlab.createNote(projectId, iid, 'Thank you.')
    const notes = (await gitlab.listNotes(projectId, iid)).filter(({ system }) => !system)
    const authors = Object.fromEntries(notes.map((note) => [note.id, note.authorId]))
    expect(authors).toEqual({ [id]: world.target.developer.id, [own]: (await gitlab.getOwnUser()).id })
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
    await world.settled(iid)
    const sha = await gitlab.getMergeRef(projectId, iid)
    expect(await gitlab.getCommit(projectId, String(sha))).toEqual({ sha, parentShas: [await world.mainHead(), head] })
    const { diffs, timedOut } = await gitlab.compare(projectId, await world.mainHead(), String(sha), true)
    expect({ paths: diffs.map(({ newPath }) => newPath), timedOut }).toEqual({
      paths: [`docs/${branch}.md`],
      timedOut: false,
    })
  })

  test('no merge for a merge request that does not exist', async () => {
    expect(await gitlab.getMergeRef(projectId, 999_999)).toBeNull()
  })

  test('a commit that does not exist is null', async () => {
    expect(await gitlab.getCommit(projectId, 'f'.repeat(40))).toBeNull()
  })

  test('who has approved', async () => {
    await commit()
    const { iid } = await open()
    expect((await gitlab.getApprovals(projectId, iid)).approvedBy).toEqual([])
    await world.project.developer.MergeRequestApprovals.approve(projectId, iid)
    const { approvedBy } = await gitlab.getApprovals(projectId, iid)
    const { id: userId, username } = world.target.developer
    expect(approvedBy).toEqual([{ userId, username, approvedAt: expect.stringMatching(/^\d{4}-/) }])
    await world.project.developer.MergeRequestApprovals.unapprove(projectId, iid)
    expect((await gitlab.getApprovals(projectId, iid)).approvedBy).toEqual([])
  })

  test('a file as it is at a ref, bytes and all; null where there is none', async () => {
    const sha = await commit({ 'docs/bytes.md': 'ä\n' })
    expect((await gitlab.getFile(projectId, 'docs/bytes.md', sha))?.content).toEqual(Buffer.from('ä\n'))
    expect(await gitlab.getFile(projectId, 'docs/none.md', sha)).toBeNull()
  })

  test('what a pipeline has started elsewhere, however much it is', async () => {
    const sha = await commit(world.target.bridgeFiles(BRIDGES))
    const { iid } = await open()
    const pipeline = await world.headPipeline(iid)
    const bridges = await eventually(
      () => gitlab.listBridges(projectId, Number(pipeline?.id)),
      (found) => found.length === BRIDGES && found.every(({ downstream }) => downstream !== null),
    )
    expect(new Set(bridges.map(({ name }) => name)).size).toBe(BRIDGES)
    expect(bridges[0]).toMatchObject({
      allowFailure: false,
      downstream: { projectId, sha, source: 'parent_pipeline', status: expect.any(String) },
    })
  })
})
