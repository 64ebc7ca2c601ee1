/** Branches, trees, comparisons and commits. */
import { Branches, Commits, Repositories, RepositoryFiles } from '@gitbeaker/rest'
import { type Connection, orNull, readAnswer } from './connection.ts'
import type { GitLab, GitLabCommitAction } from './port.ts'
import { branchSchema, commitSchema, compareSchema, fileSchema, treeSchema } from './schema.ts'

const PAGE_SIZE = 100

export function repositoryCalls(
  connection: Connection,
): Pick<GitLab, 'getBranch' | 'deleteBranch' | 'listTree' | 'getFile' | 'createCommit' | 'getCommit' | 'compare'> {
  return {
    async getBranch(projectId, branch, call) {
      const answer = connection(Branches, call).show(projectId, branch)
      return orNull(answer.then((body) => readAnswer(branchSchema, body, 'the question for a branch')))
    },

    async deleteBranch(projectId, branch, call) {
      // Gone is what was wanted, also when somebody else was faster.
      await orNull(connection(Branches, call).remove(projectId, branch))
    },

    async listTree(projectId, directory, ref, call) {
      const answer = connection(Repositories, call).allRepositoryTrees(projectId, {
        ref,
        perPage: PAGE_SIZE,
        ...(directory === '' ? {} : { path: directory }),
      })
      return (await orNull(answer.then((body) => readAnswer(treeSchema, body, 'the question for a directory')))) ?? []
    },

    async getFile(projectId, path, ref, call) {
      const answer = connection(RepositoryFiles, call).show(projectId, path, ref)
      return orNull(answer.then((body) => readAnswer(fileSchema, body, 'the question for a file')))
    },

    async createCommit(projectId, { branch, startSha, message, actions, force }, call) {
      const answer = await connection(Commits, call).create(projectId, branch, message, actions.map(toCommitAction), {
        startSha,
        force,
        stats: false,
      })
      return readAnswer(commitSchema, answer, 'a commit')
    },

    async getCommit(projectId, sha, call) {
      const answer = connection(Commits, call).show(projectId, sha)
      return orNull(answer.then((body) => readAnswer(commitSchema, body, 'the question for a commit')))
    },

    async compare(projectId, from, to, straight, call) {
      const answer = await connection(Repositories, call).compare(projectId, from, to, { straight })
      return readAnswer(compareSchema, answer, 'a comparison')
    },
  }
}

function toCommitAction({ action, file_path, previous_path, content, encoding, execute_filemode }: GitLabCommitAction) {
  return {
    action,
    filePath: file_path,
    ...(previous_path === undefined ? {} : { previousPath: previous_path }),
    ...(content === undefined ? {} : { content }),
    ...(encoding === undefined ? {} : { encoding }),
    ...(execute_filemode === undefined ? {} : { executeFilemode: execute_filemode }),
  }
}
