/**
 * Findings for whoever never saw the submission: it was made from commits or a directory, so that `/file_actions/3` says
 * nothing to them and the name of the file everything.
 */
import { z } from 'zod'
import { ApiProblem } from '../client/errors.ts'
import { WorkQueueError } from '../lib/errors.ts'
import type { Finding } from '../lib/finding.ts'
import { quoted } from './changes/file-change.ts'

const submissionSchema = z.object({ file_actions: z.array(z.object({ file_path: z.string() })) })

/** Each message that is about one file, and does not name it, begins with its path. */
export function nameFiles(findings: readonly Finding[], submission: unknown): readonly Finding[] {
  const { file_actions } = submissionSchema.safeParse(submission).data ?? { file_actions: [] }
  return findings.map((finding) => {
    const index = /^\/file_actions\/(\d+)(\/|$)/.exec(finding.path)?.[1]
    const path = index === undefined ? undefined : file_actions[Number(index)]?.file_path
    if (path === undefined || finding.message.includes(path)) return finding
    return { ...finding, message: `${quoted(path)}: ${finding.message}` }
  })
}

/** The same of a refusal. */
export function withNamedFiles(error: unknown, submission: unknown): unknown {
  if (!(error instanceof ApiProblem) || error.findings.length === 0) return error
  return new RefusedChange(error, nameFiles(error.findings, submission))
}

class RefusedChange extends WorkQueueError {
  readonly findings: readonly Finding[]
  readonly requestId: string
  constructor(problem: ApiProblem, findings: readonly Finding[]) {
    super(problem.code, problem.message, { cause: problem })
    this.findings = findings
    this.requestId = problem.requestId
  }
}
