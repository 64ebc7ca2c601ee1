/**
 * An error on standard error: one clear sentence, then every finding on a line of its own. A fault of the program says so,
 * and shows its stack only when asked to (WQ_DEBUG).
 */
import { z } from 'zod'
import { WorkQueueError } from '../lib/errors.ts'
import type { Finding } from '../lib/finding.ts'
import { exitStatusOf } from './exit-status.ts'
import { type Output, printable } from './output.ts'

const findingsSchema = z.object({
  findings: z.array(z.object({ code: z.string(), path: z.string(), message: z.string() })).min(1),
})

/** Answers the exit status. `json`: a program reads, so the error is JSON too. */
export function reportError(error: unknown, output: Output, json: boolean): number {
  const code = error instanceof WorkQueueError ? error.code : 'unexpected_error'
  const status = exitStatusOf(code)
  const { findings } = findingsSchema.safeParse(error).data ?? { findings: [] }
  const message = error instanceof Error ? error.message : String(error)
  const requestId = error instanceof Error && 'requestId' in error ? String(error.requestId) : null
  if (json) {
    const facts = { code, message, findings, exit_status: status, ...(requestId ? { request_id: requestId } : {}) }
    output.complain(JSON.stringify({ error: facts }))
    return status
  }
  const { red, dim } = output.errorColors
  if (findings.length > 0) {
    reportFindings(HEADLINES[code] ?? printable(message), findings, output)
  } else {
    const [first = '', ...rest] = message.split('\n').map(printable)
    output.complain(`${red('error:')} ${first}`)
    for (const line of rest) output.complain(`  ${line}`)
  }
  if (status === 1) {
    if (requestId) output.complain(dim(`The service logged it as request ${requestId}.`))
    if (process.env['WQ_DEBUG'] && error instanceof Error) output.complain(String(error.stack))
    else if (code === 'unexpected_error') output.complain(dim('Set WQ_DEBUG=1 to see where it came from.'))
  }
  return status
}

export function reportFindings(headline: string, findings: readonly Finding[], output: Output): void {
  const { red, dim } = output.errorColors
  output.complain(`${red('error:')} ${headline}`)
  for (const { path, message } of findings) output.complain(`  ${dim(printable(path || '/'))}  ${printable(message)}`)
}

/** Where the message of the error would only repeat the findings below it. */
const HEADLINES: Readonly<Record<string, string>> = {
  submission_rejected: 'The service refused the submission:',
  invalid_request: 'The service did not accept the request:',
}
