/**
 * What a job prints, with everything that makes real logs awkward to read: ANSI colours, carriage returns, and the section
 * marks of the runner. Pure.
 */
import type { Job, JobOutcome } from '../state.ts'

const ESCAPE = '\u001b'
const CLEAR = '\u001b[0K'
const RESET = '\u001b[0;m'
const CYAN = '\u001b[36;1m'
const GREEN = '\u001b[32;1m'
const RED = '\u001b[31;1m'

function section(name: string, title: string, body: string, from: Date, to: Date): string {
  const seconds = (at: Date) => Math.floor(at.getTime() / 1000)
  return (
    `section_start:${seconds(from)}:${name}\r${CLEAR}${CLEAR}${CYAN}${title}${RESET}${RESET}\n` +
    `${body}section_end:${seconds(to)}:${name}\r${CLEAR}`
  )
}

/** The part that is there as soon as a runner has taken the job. */
export function openingTrace(job: Job, branch: string, sha: string, now: Date): string {
  return (
    `${CLEAR}Running with gitlab-runner 18.4.0 (sandbox)${RESET}\n` +
    `${CLEAR}  on sandbox-runner, job ${job.id}${RESET}\n` +
    section('prepare_executor', 'Preparing the "sandbox" executor', 'Using the sandbox executor ...\n', now, now) +
    section(
      'get_sources',
      'Getting source from Git repository',
      `Checking out ${sha.slice(0, 8)} as ${branch}...\n`,
      now,
      now,
    )
  )
}

/** The part that follows when the job ends. */
export function closingTrace(job: Job, outcome: JobOutcome, from: Date, to: Date): string {
  const log = outcome.log ?? job.script.log
  const body = log === '' || log.endsWith('\n') ? log : `${log}\n`
  return section('step_script', 'Executing "step_script" stage of the job script', body, from, to) + verdict(outcome)
}

function verdict(outcome: JobOutcome): string {
  if (outcome.status === 'success') return `${GREEN}Job succeeded${RESET}\n`
  if (outcome.failureReason === 'script_failure') return `${RED}ERROR: Job failed: exit code 1${RESET}\n`
  const reason = (outcome.failureReason ?? 'unknown_failure').replaceAll('_', ' ').replace(/^runner system/, 'system')
  return `${RED}ERROR: Job failed (${reason})${RESET}\n`
}

/** The trace as a person reads it: without marks, colours and overwritten text. */
export function plainTrace(trace: string): string {
  const ansi = new RegExp(`${ESCAPE}\\[[0-9;]*[A-Za-z]`, 'g')
  return trace
    .replace(/section_(start|end):\d+:[^\r\n]*\r/g, '')
    .replaceAll(ansi, '')
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split('\r').at(-1) ?? '')
    .join('\n')
}
