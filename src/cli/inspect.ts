/** `wq inspect`: asks the service what a submission would do, or what is wrong with it; nothing is written. */
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { inspectionText } from './describe-inspection.ts'
import { EXIT_STATUS } from './exit-status.ts'
import { nameFiles } from './name-files.ts'
import { createOutput } from './output.ts'
import { reportFindings } from './report-error.ts'
import { readSource, type SourceOptions, withSource } from './submission-source.ts'
import { NOTHING } from './submit.ts'

type Options = ConnectionOptions & SourceOptions

export function registerInspectCommand(program: Command): void {
  const command = program
    .command('inspect')
    .description('find out what a submission would do, without doing it')
    .addHelpText('after', '\nExit status: 0 it would be accepted, 8 it would be refused.')
  withSource(withConnection(command)).action(inspect)
}

async function inspect(file: string | undefined, options: Options): Promise<void> {
  const output = createOutput()
  const submission = await readSource(file, options, output)
  if (submission === null) {
    output.print(options.json ? JSON.stringify(null) : NOTHING)
    return
  }
  const inspection = await (await connect(options)).inspect(submission)
  const isRefused = inspection.findings.length > 0
  if (options.json) output.print(JSON.stringify(inspection))
  else if (isRefused)
    reportFindings('The service would refuse the submission:', nameFiles(inspection.findings, submission), output)
  else for (const line of inspectionText(inspection, output.colors)) output.print(line)
  if (isRefused) process.exitCode = EXIT_STATUS.refused
}
