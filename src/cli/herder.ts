/** `wq herder`: what the herder makes of failed CI jobs; for whoever tunes its matchers. */
import { type Command, InvalidArgumentError } from 'commander'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { coverageText, statsText, testText } from './describe-herder.ts'
import { createOutput, type Output } from './output.ts'

export function registerHerderCommand(program: Command): void {
  const herder = program.command('herder').description('see which failed CI jobs are run again, and why')
  withConnection(
    herder
      .command('test')
      .description('what each matcher would do about a job, condition by condition; nothing is run again')
      .argument('<job-url>', 'the address of a job in GitLab'),
  ).action(async (url: string, options: ConnectionOptions) => {
    show(await (await connect(options)).herderTest(url), testText, options)
  })
  withConnection(
    withDays(herder.command('coverage').description('failures that no matcher knew, most frequent first')).option(
      '--limit <count>',
      'how many kinds of failures, 1 to 500',
      readNumber(500),
      20,
    ),
  ).action(async ({ days, limit, ...options }: Options) => {
    show(await (await connect(options)).herderCoverage({ days, limit }), coverageText, options)
  })
  withConnection(
    withDays(herder.command('stats').description('what came of the retries, by matcher and by job')),
  ).action(async ({ days, ...options }: Options) => {
    show(await (await connect(options)).herderStats({ days }), statsText, options)
  })
}

interface Options extends ConnectionOptions {
  readonly days: number
  readonly limit?: number
}

function withDays(command: Command): Command {
  return command.option('--days <days>', 'how many days to look back, 1 to 365', readNumber(365), 30)
}

function show<T>(
  answer: T,
  inWords: (answer: T, colors: Output['colors']) => string[],
  options: ConnectionOptions,
): void {
  const output = createOutput()
  if (options.json) output.print(JSON.stringify(answer))
  else for (const line of inWords(answer, output.colors)) output.print(line.trimEnd())
}

function readNumber(max: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (!Number.isInteger(number) || number < 1 || number > max) throw new InvalidArgumentError(`Give 1 to ${max}.`)
    return number
  }
}
