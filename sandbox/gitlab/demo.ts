/** The content of the project that a fresh sandbox starts with: small, but with code, an executable and a pipeline. */
import type { FileContent } from './projects.ts'

export const DEMO_PROJECT = 'demo/widgets'

const README = `# Widgets

A small demo project. Its pipeline is described in \`.sandbox-ci.yml\`: jobs here do not run commands, they take as long as
written there and end as written there.
`

const CI = `stages: [build, test]
jobs:
  compile:
    stage: build
    seconds: 2
    log: "compiling widgets\\ndone\\n"
  unit:
    stage: test
    seconds: 3
    log: "12 tests passed\\n"
  lint:
    stage: test
    seconds: 1
    allow_failure: true
`

export const DEMO_FILES: Readonly<Record<string, FileContent>> = {
  '.sandbox-ci.yml': CI,
  'README.md': README,
  VERSION: '1.0.0\n',
  'bin/widgets': { content: '#!/bin/sh\nexec cat "$(dirname "$0")/../VERSION"\n', executable: true },
  'docs/usage.md': '# Usage\n\nRun `bin/widgets`.\n',
  'src/index.ts': "export { assemble } from './widget.ts'\n",
  'src/widget.ts': [
    'export interface Widget {',
    '  readonly name: string',
    '  readonly parts: readonly string[]',
    '}',
    '',
    'export function assemble(name: string, parts: readonly string[]): Widget {',
    '  return { name, parts }',
    '}',
    '',
  ].join('\n'),
}
