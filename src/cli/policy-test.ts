/** `wq policy test`: what a changed policy would have said to the submissions that were taken before. */
import { type Command, InvalidArgumentError } from 'commander'
import { loadConfig } from '../app/config.ts'
import { type BackTest, type PolicyChange, type PolicyEffect, testPolicy } from '../app/test-policy.ts'
import { EXIT_STATUS } from './exit-status.ts'
import { type Colors, createOutput, printable } from './output.ts'

export function registerPolicyCommand(program: Command): void {
  program
    .command('policy')
    .description('look at the rules of the inspection')
    .command('test')
    .description('say what a changed policy would have said to stored submissions; reads only')
    .requiredOption('-c, --config <file>', 'the configuration that holds now, YAML')
    .requiredOption('--policy <file>', 'the changed configuration, YAML; its part "mr" is tried')
    .option('--limit <count>', 'how many of the newest submissions', readLimit, 1_000)
    .option('--json', 'print JSON, for programs')
    .addHelpText('after', '\nExit status: 0 nothing would change, 10 something would.')
    .action(run)
}

interface Options {
  readonly config: string
  readonly policy: string
  readonly limit: number
  readonly json?: true
}

async function run({ config, policy, limit, json }: Options): Promise<void> {
  const output = createOutput()
  const [current, proposed] = await Promise.all([loadConfig(config, process.env), loadConfig(policy, process.env)])
  const result = await testPolicy(current, proposed, limit)
  if (result.changes.length > 0) process.exitCode = EXIT_STATUS.conflict
  if (json) output.print(JSON.stringify(toJson(result)))
  else for (const line of resultText(result, output.colors)) output.print(line)
}

const EFFECTS: Readonly<Record<PolicyEffect, string>> = {
  refused: 'would be refused',
  accepted: 'would be accepted',
  review_needed: 'would need a review',
  review_not_needed: 'would need no review any more',
}

function resultText({ judged, changes }: BackTest, { bold, dim }: Colors): string[] {
  const count = `${judged} stored ${judged === 1 ? 'submission' : 'submissions'}`
  if (changes.length === 0) return [`Nothing would change for ${count}.`]
  const lines = [bold(`${changes.length} of ${count} would fare otherwise.`)]
  for (const [effect, title] of Object.entries(EFFECTS)) {
    const concerned = changes.filter((change) => change.effect === effect)
    if (concerned.length > 0)
      lines.push('', `${concerned.length} ${title}`, ...concerned.flatMap((change) => changeLines(change, dim)))
  }
  return lines
}

const MOST_FINDINGS = 3

function changeLines(
  { workItemId, phase, project, sourceBranch, findings }: PolicyChange,
  dim: Colors['dim'],
): string[] {
  const shown = findings
    .slice(0, MOST_FINDINGS)
    .map(({ code, path, message }) => dim(`      ${code} ${printable(path)}  ${printable(message)}`))
  const more = findings.length - shown.length
  return [
    `  ${workItemId}  ${printable(project)}: ${printable(sourceBranch)} (${phase})`,
    ...shown,
    ...(more > 0 ? [dim(`      and ${more} more`)] : []),
  ]
}

function toJson({ judged, changes }: BackTest) {
  return {
    judged,
    changes: changes.map(({ workItemId, phase, project, sourceBranch, effect, findings }) => ({
      work_item_id: workItemId,
      phase,
      project,
      source_branch: sourceBranch,
      effect,
      findings,
    })),
  }
}

function readLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000_000) throw new InvalidArgumentError('Take 1 to 1000000.')
  return limit
}
