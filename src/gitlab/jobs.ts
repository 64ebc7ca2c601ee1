/**
 * Jobs: their runs, the end of their logs, and running one again. A job that GitLab does not run again is an answer, not an
 * error: somebody else may have been faster, and the caller looks again.
 */
import { Jobs } from '@gitbeaker/rest'
import { type Connection, orNull, readAnswer } from './connection.ts'
import { GitLabError } from './errors.ts'
import type { GitLab } from './port.ts'
import { jobSchema, jobsSchema } from './schema.ts'

const PAGE_SIZE = 100
/** A log may be hidden from us or too long to wait for; nobody has to know it. */
const NO_LOG_STATUSES = [403, 404]
const NO_LOG_CODES = ['gitlab_timeout', 'gitlab_unexpected_answer']

export function jobCalls(connection: Connection): Pick<GitLab, 'listJobs' | 'getJob' | 'getJobLogTail' | 'retryJob'> {
  return {
    async listJobs(projectId, pipelineId, call) {
      const answer = await connection(Jobs, call).all(projectId, {
        pipelineId,
        includeRetried: true,
        perPage: PAGE_SIZE,
      })
      return readAnswer(jobsSchema, answer, 'the list of jobs')
    },

    async getJob(projectId, jobId, call) {
      const answer = connection(Jobs, call).show(projectId, jobId)
      return orNull(answer.then((body) => readAnswer(jobSchema, body, 'the question for a job')))
    },

    async getJobLogTail(projectId, jobId, maxBytes, call) {
      try {
        const log: unknown = await connection(Jobs, { ...call, lastBytes: maxBytes }).showLog(projectId, jobId)
        return typeof log === 'string' ? log : null
      } catch (error) {
        if (!(error instanceof GitLabError)) throw error
        if (NO_LOG_STATUSES.includes(error.status ?? 0) || NO_LOG_CODES.includes(error.code)) return null
        throw error
      }
    },

    async retryJob(projectId, jobId, call) {
      try {
        const answer = await connection(Jobs, call).retry(projectId, jobId)
        return { retried: true, job: readAnswer(jobSchema, answer, 'a retry') }
      } catch (error) {
        if (!(error instanceof GitLabError) || error.failure === 'transient') throw error
        return { retried: false, message: error.answer || error.message }
      }
    },
  }
}
