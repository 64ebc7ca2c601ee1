/**
 * `npm run check:fast`: everything that can be known about the code without running it. The steps are the `check:…` scripts
 * of package.json, so each can be run alone. All of them run, so that one round shows everything; each says its name and
 * how long it took, and a failing one what it found.
 */
import { spawnSync } from 'node:child_process'
import manifest from '../package.json' with { type: 'json' }

const PREFIX = 'check:'
const SELF = 'check:fast'
const TIMEOUT_MS = 120_000

const failed: string[] = []
for (const [script, command] of Object.entries(manifest.scripts)) {
  if (!script.startsWith(PREFIX) || script === SELF) continue
  const name = script.slice(PREFIX.length)
  const startedAt = performance.now()
  // npm has put node_modules/.bin into PATH; another npm for each step would cost more than the step.
  const { status, stdout, stderr, error } = spawnSync(command, {
    shell: true,
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    maxBuffer: 2 ** 26,
  })
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  if (status === 0) {
    console.log(`ok      ${name} (${seconds} s)`)
    continue
  }
  failed.push(name)
  console.log(`FAILED  ${name} (${seconds} s): ${command}`)
  console.log(`${stdout}${stderr}${error ? `${error.message}\n` : ''}`)
}
if (failed.length > 0) {
  console.log(`check: ${failed.join(', ')} failed`)
  process.exitCode = 1
}
