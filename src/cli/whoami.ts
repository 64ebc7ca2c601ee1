/** `wq whoami`: who the caller is to the service, and what it may do. */
import type { Command } from 'commander'
import type { WhoAmI } from '../contract/whoami.ts'
import { type ConnectionOptions, connect, withConnection } from './connection.ts'
import { type Colors, createOutput, printable, shortTime, table } from './output.ts'

export function registerWhoAmICommand(program: Command): void {
  const command = program.command('whoami').description('show who you are to the service, and what you may do')
  withConnection(command).action(async (options: ConnectionOptions) => {
    const output = createOutput()
    const answer = await (await connect(options)).whoami()
    if (options.json) output.print(JSON.stringify(answer))
    else for (const line of whoamiText(answer, output.colors)) output.print(line)
  })
}

const KINDS: Readonly<Record<WhoAmI['kind'], string>> = {
  token: 'a static token',
  jwt: 'a signed token',
  k8s: 'a token of a service account in the cluster',
  openshift: 'a token of OpenShift',
}

export function whoamiText(
  { caller, kind, issuer, expires_at, rules }: WhoAmI,
  { bold, dim, yellow }: Colors,
): string[] {
  const facts = [
    ['shown', KINDS[kind]],
    ...(issuer === null ? [] : [['issuer', printable(issuer)]]),
    ['expires', expires_at === null ? (kind === 'token' ? 'never' : 'not known') : `${shortTime(expires_at)} UTC`],
  ]
  const lines = [bold(printable(caller)), '', ...table(facts, (cell, column) => (column === 0 ? dim(cell) : cell)), '']
  if (rules.length === 0) {
    return [...lines, yellow('No rule of the service knows you, so you may do nothing; ask its operator for one.')]
  }
  const rows = rules.map((rule) => [
    printable(rule.name),
    rule.permissions.join(', '),
    limits(rule.item_types),
    limits(rule.projects),
    limits(rule.branches),
    limits(rule.paths),
  ])
  const head = ['RULE', 'PERMISSIONS', 'ITEM TYPES', 'PROJECTS', 'BRANCHES', 'FILES']
  return [...lines, ...table([head, ...rows], (cell, _column, row) => (row === 0 ? dim(cell) : cell))]
}

function limits(patterns: readonly string[] | null): string {
  return patterns === null ? 'all' : patterns.map((pattern) => printable(pattern)).join(', ')
}
