/** What GitLab promises about merge requests, from opening to merged, and about what is said and approved on them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ContractProject, createContractProject, eventually, refusalOf, settled } from './gitlab-client.ts'
import { type GitLabTarget, openGitLabTarget } from './gitlab-target.ts'

let target: GitLabTarget
let project: ContractProject

beforeAll(async () => {
  target = await openGitLabTarget()
  project = await createContractProject(target, 'merge-requests')
})

afterAll(() => target.close())

describe('opening and changing', () => {
  test('a new one is unsettled first and mergeable a moment later', async () => {
    const { owner, id, path } = project
    const sha = await project.commit('open/one', { 'one.txt': 'one\n' })
    const opened = await owner.MergeRequests.create(id, 'open/one', 'main', 'Add one', {
      description: 'Because.\n\n- [x] done\n- [ ] to do',
      labels: 'zebra,apple',
      removeSourceBranch: true,
    })
    expect(opened).toMatchObject({
      state: 'opened',
      sha,
      labels: ['apple', 'zebra'],
      force_remove_source_branch: true,
      should_remove_source_branch: null,
      merge_error: null,
      references: { full: `${path}!${opened.iid}` },
      task_completion_status: { count: 2, completed_count: 1 },
    })
    expect(['preparing', 'checking', 'unchecked']).toContain(opened.detailed_merge_status)
    expect(['checking', 'unchecked']).toContain(opened.merge_status)
    expect(await settled(project, opened.iid)).toMatchObject({
      merge_status: 'can_be_merged',
      detailed_merge_status: 'mergeable',
      has_conflicts: false,
      changes_count: '1',
      diff_refs: { head_sha: sha },
    })
  })

  test('a second one for the same branches is a conflict that names the first', async () => {
    const { owner, id } = project
    const { iid } = await project.open('open/twice')
    expect(await refusalOf(owner.MergeRequests.create(id, 'open/twice', 'main', 'Again'))).toEqual({
      status: 409,
      text: JSON.stringify([`Another open merge request already exists for this source branch: !${iid}`]),
    })
  })

  test('refusals of create', async () => {
    const { owner, id } = project
    expect(await refusalOf(owner.MergeRequests.create(id, 'main', 'main', 'Same'))).toEqual({
      status: 422,
      text: JSON.stringify(["You can't use same project/branch for source and target"]),
    })
    expect((await refusalOf(owner.MergeRequests.create(id, 'nowhere', 'main', 'None'))).status).toBe(400)
    expect((await refusalOf(owner.MergeRequests.show(id, 9999))).status).toBe(404)
  })

  test('is found by its source branch, and carries what is edited', async () => {
    const { owner, id } = project
    const { iid } = await project.open('open/edit')
    const found = await owner.MergeRequests.all({ projectId: id, sourceBranch: 'open/edit', state: 'opened' })
    expect(found.map((row) => row.iid)).toEqual([iid])
    const edited = await owner.MergeRequests.edit(id, iid, { title: 'Draft: later', addLabels: 'x' })
    expect(edited).toMatchObject({ title: 'Draft: later', draft: true, labels: ['x'] })
    expect(await settled(project, iid)).toMatchObject({ detailed_merge_status: 'draft_status' })
    const closed = await owner.MergeRequests.edit(id, iid, { stateEvent: 'close' })
    expect(closed).toMatchObject({ state: 'closed', closed_at: expect.any(String) })
    expect(await owner.MergeRequests.edit(id, iid, { stateEvent: 'close' })).toMatchObject({ state: 'closed' })
    expect(await owner.MergeRequests.edit(id, iid, { stateEvent: 'reopen' })).toMatchObject({ state: 'opened' })
  })

  test('follows a push to its source branch', async () => {
    const { owner, id } = project
    const { iid } = await project.open('open/follow')
    await settled(project, iid)
    const sha = await project.commit('open/follow', { 'more.txt': 'more\n' })
    const followed = await eventually(
      () => owner.MergeRequests.show(id, iid),
      (row) => row.diff_refs.head_sha === sha,
    )
    expect(followed.sha).toBe(sha)
  })
})

describe('merging', () => {
  test('takes the very head that was asked for, and no other', async () => {
    const { owner, id, path } = project
    const { iid, sha } = await project.open('merge/one')
    const stale = await refusalOf(owner.MergeRequests.merge(id, iid, { sha: 'a'.repeat(40) }))
    expect(stale).toEqual({ status: 409, text: `SHA does not match HEAD of source branch: ${sha}` })
    const merged = await owner.MergeRequests.merge(id, iid, { sha, shouldRemoveSourceBranch: true })
    expect(merged).toMatchObject({ state: 'merged', merged_at: expect.any(String), merge_error: null })
    const commit = await owner.Commits.show(id, merged.merge_commit_sha ?? '')
    expect(commit.parent_ids).toHaveLength(2)
    expect(commit.parent_ids?.[1]).toBe(sha)
    expect(commit.message).toBe(
      `Merge branch 'merge/one' into 'main'\n\nMerge merge/one\n\nSee merge request ${path}!${iid}`,
    )
    const gone = await eventually(
      () => owner.Branches.all(id, { search: 'merge/one' }),
      (branches) => branches.length === 0,
    )
    expect(gone).toEqual([])
    expect(await owner.MergeRequests.show(id, iid)).toMatchObject({ detailed_merge_status: 'not_open' })
    expect((await refusalOf(owner.MergeRequests.merge(id, iid))).status).toBe(405)
  })

  test('squashes into one commit when asked', async () => {
    const { owner, id } = project
    const { iid } = await project.open('merge/squash')
    const sha = await project.commit('merge/squash', { 'second.txt': 'two\n' })
    await eventually(
      () => owner.MergeRequests.show(id, iid),
      (row) => row.sha === sha,
    )
    const merged = await owner.MergeRequests.merge(id, iid, { squash: true, squashCommitMessage: 'All in one' })
    expect(await owner.Commits.show(id, merged.squash_commit_sha ?? '')).toMatchObject({ title: 'All in one' })
  })

  test('is not for those who may not push to the target', async () => {
    const { developer, id } = project
    const { iid } = await project.open('merge/forbidden')
    expect(await refusalOf(developer.MergeRequests.merge(id, iid))).toEqual({ status: 401, text: '401 Unauthorized' })
  })

  test('is refused for a draft and for a closed one', async () => {
    const { owner, id } = project
    const { iid } = await project.open('merge/draft')
    await owner.MergeRequests.edit(id, iid, { title: 'Draft: not yet' })
    expect(await refusalOf(owner.MergeRequests.merge(id, iid))).toEqual({
      status: 405,
      text: '405 Method Not Allowed',
    })
    await owner.MergeRequests.edit(id, iid, { title: 'Now', stateEvent: 'close' })
    expect((await refusalOf(owner.MergeRequests.merge(id, iid))).status).toBe(405)
  })

  test('finds conflicts, and refuses to merge or rebase them', async () => {
    const { owner, id } = project
    await project.commit('main', { 'shared.txt': 'base\n' })
    const { iid } = await project.open('merge/conflict', { 'shared.txt': 'theirs\n' })
    await settled(project, iid)
    await project.commit('main', { 'shared.txt': 'ours\n' })
    const conflicting = await eventually(
      () => owner.MergeRequests.show(id, iid),
      (row) => row.merge_status === 'cannot_be_merged',
    )
    expect(conflicting).toMatchObject({ detailed_merge_status: 'conflict', has_conflicts: true })
    expect((await refusalOf(owner.MergeRequests.merge(id, iid))).status).toBe(405)
    await owner.MergeRequests.rebase(id, iid)
    const tried = await eventually(
      () => owner.MergeRequests.show(id, iid, { includeRebaseInProgress: true }),
      (row) => row['rebase_in_progress'] === false,
    )
    expect(tried.merge_error).toBe('Rebase failed: Rebase locally, resolve all conflicts, then push the branch.')
  })

  test('a rebase moves the branch onto the target', async () => {
    const { owner, id } = project
    const { iid, sha } = await project.open('merge/rebase')
    const tip = await project.commit('main', { 'other.txt': 'other\n' })
    expect(await owner.MergeRequests.rebase(id, iid)).toMatchObject({ rebase_in_progress: true })
    const rebased = await eventually(
      () => owner.MergeRequests.show(id, iid, { includeRebaseInProgress: true }),
      (row) => row['rebase_in_progress'] === false && row.sha !== sha,
    )
    expect((await owner.Commits.show(id, rebased.sha)).parent_ids).toEqual([tip])
  })

  test('happens by itself when the head reaches the target by another way', async () => {
    const { owner, id } = project
    const { iid, sha } = await project.open('merge/elsewhere')
    const base = (await owner.Commits.show(id, sha)).parent_ids?.[0]
    expect((await owner.Branches.show(id, 'main')).commit.id).toBe(base)
    const { iid: second } = await owner.MergeRequests.create(id, 'merge/elsewhere', 'open/one', 'The same elsewhere')
    await owner.MergeRequests.merge(id, iid, { sha, shouldRemoveSourceBranch: false })
    expect(await owner.MergeRequests.show(id, second)).toMatchObject({ state: 'opened' })
    await owner.Branches.remove(id, 'merge/elsewhere')
    await eventually(
      () => owner.MergeRequests.show(id, second),
      (row) => row.state === 'closed',
    )
  })
})

describe('approvals and notes', () => {
  test('an approval is given once and taken back', async () => {
    const { developer, owner, id } = project
    const { iid } = await project.open('approve/one')
    const before = await owner.MergeRequestApprovals.showConfiguration(id, { mergerequestIId: iid })
    expect(before).toMatchObject({ approved_by: [] })
    await developer.MergeRequestApprovals.approve(id, iid)
    const after = await developer.MergeRequestApprovals.showConfiguration(id, { mergerequestIId: iid })
    expect(after).toMatchObject({ approved: true, user_has_approved: true, user_can_approve: false })
    expect(after['approved_by']).toMatchObject([{ user: { id: target.developer.id } }])
    expect((await refusalOf(developer.MergeRequestApprovals.approve(id, iid))).status).toBe(401)
    await developer.MergeRequestApprovals.unapprove(id, iid)
    expect((await refusalOf(developer.MergeRequestApprovals.unapprove(id, iid))).status).toBe(404)
  })

  test('notes are written, listed newest first, edited and removed', async () => {
    const { developer, owner, id } = project
    const { iid } = await project.open('notes/one')
    const first = await owner.MergeRequestNotes.create(id, iid, 'First <!-- marker -->')
    const second = await developer.MergeRequestNotes.create(id, iid, 'Second')
    expect(first).toMatchObject({ body: 'First <!-- marker -->', system: false, noteable_type: 'MergeRequest' })
    const comments = (await owner.MergeRequestNotes.all(id, iid)).filter((note) => !note.system)
    expect(comments.map((note) => note.id)).toEqual([second.id, first.id])
    const edited = await owner.MergeRequestNotes.edit(id, iid, first.id, { body: 'Changed' })
    expect(edited).toMatchObject({ id: first.id, body: 'Changed' })
    const foreign = developer.MergeRequestNotes.edit(id, iid, first.id, { body: 'Mine now' })
    expect((await refusalOf(foreign)).status).toBe(403)
    await owner.MergeRequestNotes.remove(id, iid, first.id)
    expect((await refusalOf(owner.MergeRequestNotes.show(id, iid, first.id))).status).toBe(404)
  })

  test('a note of a quick action acts and leaves no note', async () => {
    const { owner, id } = project
    const { iid } = await project.open('notes/quick')
    await owner.MergeRequestNotes.create(id, iid, '/close')
    expect(await owner.MergeRequests.show(id, iid)).toMatchObject({ state: 'closed', user_notes_count: 0 })
  })
})
