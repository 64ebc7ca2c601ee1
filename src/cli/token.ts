/** `wq token`: makes a caller's token, and the rule that the service needs to know it by. */
import type { Command } from 'commander'
import { newToken } from '../app/new-token.ts'
import { createOutput } from './output.ts'

export function registerTokenCommand(program: Command): void {
  program
    .command('token')
    .description('make a token for a caller, and its rule for the configuration')
    .argument('[name]', 'what to call the caller in rules and audit', 'my-caller')
    .option('--json', 'print JSON, for programs')
    .action((name: string, { json }: { json?: true }) => {
      const output = createOutput()
      const { token, sha256 } = newToken()
      if (json) {
        output.print(JSON.stringify({ token, token_sha256: sha256 }))
        return
      }
      const { bold, dim } = output.colors
      output.print(dim('# For the caller; it is shown only this once:'))
      output.print(bold(token))
      output.print('')
      output.print(dim('# For auth.rules in the configuration of the service:'))
      output.print(`- name: ${JSON.stringify(name)}`)
      output.print(`  token_sha256: ${JSON.stringify(sha256)}`)
      output.print('  permissions: [submit, retry, cancel]')
    })
}
