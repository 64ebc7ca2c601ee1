/** `wq local`: placeholder until the lead's command is here. */
import type { Command } from 'commander'

export function registerLocalCommand(program: Command): void {
  program.command('local').description('run everything on this machine, with nothing configured')
}
