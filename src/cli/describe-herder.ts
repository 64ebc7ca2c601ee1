/** What the herder knows, in words: each answer ends with what to do next, where there is something. */
import type { HerderCoverageView, HerderStatsView, HerderTestView } from '../contract/herder.ts'
import { type Colors, printable, shortTime, table } from './output.ts'

export function testText({ job, log, matchers, verdict }: HerderTestView, colors: Colors): string[] {
  const reason = job.failure_reason === null ? '' : `: ${printable(job.failure_reason)}`
  const lines = [
    colors.bold(
      `${printable(job.name)} (stage ${printable(job.stage)}) of ${printable(job.project)} is ${printable(job.status)}${reason}`,
    ),
    ...(log === 'hidden'
      ? [colors.yellow('GitLab does not show its log, or not in time: nothing can be matched there.')]
      : []),
    '',
  ]
  const decider = matchers.find(({ fits }) => fits)
  for (const one of matchers) {
    const { name, source, action, fits, conditions } = one
    const decides = one === decider ? ', and decides' : ''
    const said = fits ? colors.green(`fits${decides}`) : colors.dim('does not fit')
    lines.push(`${printable(name)} (${printable(source)}, ${printable(action)}) ${said}`)
    for (const { about, expected, holds } of conditions) {
      const mark = holds === null ? '?' : holds ? '✓' : '✗'
      lines.push(colors.dim(`  ${mark} ${about}: ${shortened(expected.map(printable).join(' | '))}`))
    }
  }
  return [...lines, '', printable(verdict)]
}

const MAX_EXPECTED = 160

/** Patterns may be long; whoever needs the whole of one asks for JSON. */
function shortened(text: string): string {
  return text.length > MAX_EXPECTED ? `${text.slice(0, MAX_EXPECTED)}…` : text
}

export function coverageText({ since, failures, known, unknown }: HerderCoverageView, colors: Colors): string[] {
  const share = failures === 0 ? '' : `, ${Math.floor((known / failures) * 100)} %`
  const lines = [colors.bold(`Matchers knew ${known} of ${failures} failed runs since ${shortTime(since)} UTC${share}`)]
  if (unknown.length === 0) return [...lines, colors.dim('There is none that no matcher knew.')]
  const rows = unknown.map((row) => [
    String(row.failures),
    String(row.recovered),
    printable(row.project),
    printable(row.job),
    printable(row.failure_reason),
    row.known_by === null ? printable(row.last_job_url) : `known by ${printable(row.known_by)} since`,
  ])
  const head = ['FAILED', 'LATER GREEN', 'PROJECT', 'JOB', 'REASON', 'NEWEST']
  return [
    ...lines,
    ...['', ...table([head, ...rows], (cell, _column, row) => (row === 0 ? colors.dim(cell) : cell)), ''],
    colors.dim(
      'What turned green later without a change is a flake. See which condition is missing: wq herder test URL',
    ),
  ]
}

/** A job that was run again in so many pipelines of its project, and no fewer than this, always needs it. */
const MOST = 0.8
const MIN_PIPELINES = 3

export function statsText({ since, matchers, jobs }: HerderStatsView, colors: Colors): string[] {
  const lines = [colors.bold(`Retries since ${shortTime(since)} UTC`)]
  if (matchers.length === 0) return [...lines, colors.dim('No matcher has known any failure.')]
  const dimHead = (cell: string, _column: number, row: number) => (row === 0 ? colors.dim(cell) : cell)
  lines.push('')
  lines.push(
    ...table(
      [
        ['MATCHER', 'FAILURES', 'RETRIES', 'GREEN', 'FAILED AGAIN', 'NOT KNOWN'],
        ...matchers.map(({ matcher, ...counts }) => [
          printable(matcher),
          ...[counts.failures, counts.retries, counts.succeeded, counts.failed_again, counts.unknown].map(String),
        ]),
      ],
      dimHead,
    ),
  )
  if (jobs.length === 0) return lines
  lines.push('')
  lines.push(
    ...table(
      [
        ['PROJECT', 'JOB', 'RETRIES', 'IN PIPELINES', 'GREEN THEN'],
        ...jobs.map((job) => [
          printable(job.project),
          printable(job.job),
          String(job.retries),
          `${job.pipelines_retried} of ${job.pipelines_of_project}`,
          String(job.pipelines_recovered),
        ]),
      ],
      dimHead,
    ),
  )
  const needy = jobs.filter(
    ({ pipelines_retried: retried, pipelines_of_project: all }) => retried >= MIN_PIPELINES && retried >= all * MOST,
  )
  for (const { job, project } of needy) {
    lines.push('', colors.yellow(`${printable(job)} of ${printable(project)} needs a retry nearly always: mend it.`))
  }
  return lines
}
