/** `wq auth explain`: why a token gets the rights that it gets, for operators. The token itself is printed nowhere. */
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { loadConfig } from '../app/config.ts'
import { type Explanation, explainToken } from '../app/explain-token.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import { EXIT_STATUS } from './exit-status.ts'
import { createOutput, printable } from './output.ts'

export function registerAuthCommand(program: Command): void {
  program
    .command('auth')
    .description('look at who may do what')
    .command('explain')
    .description('say which rules of a configuration match a token, and what keeps the others from it')
    .requiredOption('--token-file <file>', 'the token, in a file; - reads it from standard input')
    .requiredOption('-c, --config <file>', 'the configuration, YAML')
    .option('--json', 'print JSON, for programs')
    .action(explain)
}

interface ExplainOptions {
  readonly tokenFile: string
  readonly config: string
  readonly json?: true
}

async function explain({ tokenFile, config: configFile, json }: ExplainOptions): Promise<void> {
  const output = createOutput()
  const { auth } = await loadConfig(configFile, process.env)
  const token = await readToken(tokenFile)
  const explanation = await explainToken(auth, token)
  process.exitCode = exitOf(explanation)
  if (json) {
    output.print(JSON.stringify(explanation))
    return
  }
  output.print(verdict(explanation))
  for (const line of explanation.rules.flatMap((rule) => ruleLines(rule, output.colors))) output.print(line)
}

async function readToken(file: string): Promise<string> {
  const text = await readFile(file === '-' ? '/dev/stdin' : file, 'utf8').catch((error: unknown) => {
    throw new WorkQueueError('token_unreadable', `The token file ${file} cannot be read: ${messageOf(error)}.`)
  })
  const token = text.trim()
  if (/^[!-~]+$/.test(token)) return token
  throw new WorkQueueError('token_unreadable', `The file ${file} must hold one token and nothing else.`)
}

function verdict({ caller, refusal, unavailable, rules }: Explanation): string {
  if (unavailable !== null)
    return `Nobody can say whether the token is good (${unavailable}). What follows reads it unverified.`
  if (caller === null) return `The token is refused: ${refusal?.message ?? 'nobody says why'}.`
  const right = rules.some(({ matches }) => matches) ? '' : ' No rule matches, so it gives no right.'
  return `The token is good. Its caller is ${printable(caller)}.${right}`
}

function ruleLines(
  { name, matches, reasons }: Explanation['rules'][number],
  { green, dim }: ReturnType<typeof createOutput>['colors'],
): string[] {
  if (matches) return [green(`${printable(name)}: matches`)]
  return [`${printable(name)}: does not match`, ...reasons.map((reason) => dim(`  ${printable(reason)}`))]
}

function exitOf({ unavailable, rules }: Explanation): number {
  if (unavailable !== null) return EXIT_STATUS.unavailable
  return rules.some(({ matches }) => matches) ? EXIT_STATUS.done : EXIT_STATUS.denied
}
