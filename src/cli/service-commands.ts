/** The commands that run the service itself, and so load all of it. main.ts loads this file only when one is asked for. */
import type { Command } from 'commander'
import { registerAuthCommand } from './auth-explain.ts'
import { registerConfigCommand } from './config-check.ts'
import { registerMigrateCommand } from './migrate.ts'
import { registerPolicyCommand } from './policy-test.ts'
import { registerSandboxCommand } from './sandbox.ts'
import { registerServeCommand } from './serve.ts'
import { registerStartCommand } from './start.ts'

export function registerServiceCommands(program: Command): void {
  registerStartCommand(program)
  registerServeCommand(program)
  registerMigrateCommand(program)
  registerConfigCommand(program)
  registerAuthCommand(program)
  registerPolicyCommand(program)
  registerSandboxCommand(program)
}
