/**
 * Merge requests and their notes. A merge that GitLab does not make is an answer, not an error: approvals, pipelines and
 * conflicts change by themselves, and the caller looks again.
 */
import { MergeRequestNotes, MergeRequests } from '@gitbeaker/rest'
import { type Connection, orNull, readAnswer } from './connection.ts'
import { GitLabError } from './errors.ts'
import type { GitLab, GitLabMergeRequest, GitLabMergeRequestChanges, GitLabMergeRequestFields } from './port.ts'
import { mergeRequestSchema, mergeRequestsSchema, newNoteSchema, notesSchema } from './schema.ts'

/**
 * Statuses of a merge that did not happen for a reason that may pass: not mergeable, conflict, another head. 401 is what
 * GitLab says when the bot may not merge into this branch; its other calls, made with the same token, tell it from a bad one.
 */
const NOT_MERGED_STATUSES = [401, 405, 406, 409, 422]
/** A branch that was pushed a moment ago may still be unknown to the part of GitLab that makes merge requests. */
const SOURCE_BRANCH_RETRY_MS = 1_000
const PAGE_SIZE = 100

type MergeRequestCalls = Pick<
  GitLab,
  'findOpenMergeRequest' | 'createMergeRequest' | 'getMergeRequest' | 'updateMergeRequest' | 'mergeMergeRequest'
>

export function mergeRequestCalls(connection: Connection): MergeRequestCalls {
  return {
    async findOpenMergeRequest(projectId, sourceBranch, targetBranch, call) {
      const answer = await connection(MergeRequests, call).all({
        projectId,
        state: 'opened',
        sourceBranch,
        targetBranch,
        perPage: PAGE_SIZE,
      })
      const found = readAnswer(mergeRequestsSchema, answer, 'the list of merge requests')
      // A fork may have a branch of the same name. The other filters are compared too: a server ignores what it does not know.
      const isIt = (mr: GitLabMergeRequest) =>
        mr.sourceProjectId === projectId && mr.sourceBranch === sourceBranch && mr.targetBranch === targetBranch
      return found.find(isIt) ?? null
    },

    async createMergeRequest(projectId, { sourceBranch, targetBranch }, { title, ...fields }, call) {
      try {
        const answer = await connection(MergeRequests, call).create(projectId, sourceBranch, targetBranch, title, {
          ...toOptions(fields),
        })
        return readAnswer(mergeRequestSchema, answer, 'a new merge request')
      } catch (error) {
        throw error instanceof GitLabError ? nameCreationError(error, sourceBranch) : error
      }
    },

    async getMergeRequest(projectId, iid, call) {
      const answer = connection(MergeRequests, call).show(projectId, iid)
      return orNull(answer.then((body) => readAnswer(mergeRequestSchema, body, 'the question for a merge request')))
    },

    async updateMergeRequest(projectId, iid, changes, call) {
      const answer = await connection(MergeRequests, call).edit(projectId, iid, toOptions(changes))
      return readAnswer(mergeRequestSchema, answer, 'the change of a merge request')
    },

    async mergeMergeRequest(projectId, iid, { sha, squash, removeSourceBranch }, call) {
      try {
        const answer = await connection(MergeRequests, call).merge(projectId, iid, {
          sha,
          squash,
          shouldRemoveSourceBranch: removeSourceBranch,
        })
        const mergeRequest = readAnswer(mergeRequestSchema, answer, 'a merge')
        if (mergeRequest.state === 'merged') return { merged: true, mergeRequest }
        return { merged: false, status: 200, message: mergeRequest.mergeError ?? `it is still ${mergeRequest.state}` }
      } catch (error) {
        if (!(error instanceof GitLabError) || !NOT_MERGED_STATUSES.includes(error.status ?? 0)) throw error
        return { merged: false, status: error.status ?? 0, message: error.answer }
      }
    },
  }
}

export function noteCalls(connection: Connection): Pick<GitLab, 'createNote' | 'updateNote' | 'listNotes'> {
  return {
    async createNote(projectId, iid, body, call) {
      const answer = await connection(MergeRequestNotes, call).create(projectId, iid, body)
      return readAnswer(newNoteSchema, answer, 'a new note').id
    },

    async updateNote(projectId, iid, noteId, body, call) {
      return (await orNull(connection(MergeRequestNotes, call).edit(projectId, iid, noteId, { body }))) !== null
    },

    async listNotes(projectId, iid, call) {
      const answer = await connection(MergeRequestNotes, call).all(projectId, iid, { perPage: PAGE_SIZE })
      return readAnswer(notesSchema, answer, 'the list of notes')
    },
  }
}

type Options = GitLabMergeRequestChanges & Partial<Pick<GitLabMergeRequestFields, 'labels'>>

function toOptions({ labels, addLabels, assigneeIds, reviewerIds, ...fields }: Options) {
  return {
    ...fields,
    ...(labels === undefined ? {} : { labels: labels.join(',') }),
    ...(addLabels === undefined ? {} : { addLabels: addLabels.join(',') }),
    ...(assigneeIds === undefined ? {} : { assigneeIds: [...assigneeIds] }),
    ...(reviewerIds === undefined ? {} : { reviewerIds: [...reviewerIds] }),
  }
}

function nameCreationError(error: GitLabError, sourceBranch: string): GitLabError {
  if (error.status === 409) {
    return error.renamed('merge_request_exists', `GitLab has an open merge request of ${sourceBranch} already`)
  }
  if (error.status === 400 && /source_branch.*does not exist/i.test(error.answer)) {
    return error.renamed('source_branch_missing', `GitLab does not see the branch ${sourceBranch} yet`, {
      failure: 'transient',
      retryAfterMs: SOURCE_BRANCH_RETRY_MS,
    })
  }
  return error
}
