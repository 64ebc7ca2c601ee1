/**
 * A client from another world, Debian's python3-gitlab, works with the sandbox as it would with GitLab. Where the package
 * is not installed the test is skipped and says so.
 */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createContractProject } from './gitlab-client.ts'
import { openGitLabTarget } from './gitlab-target.ts'

const run = promisify(execFile)
// The system's own interpreter first: one that comes earlier in PATH may not see the system's packages.
const PYTHON = ['/usr/bin/python3', 'python3'].find(
  (python) =>
    (python === 'python3' || existsSync(python)) &&
    spawnSync(python, ['-c', 'import gitlab'], { timeout: 20_000 }).status === 0,
)
const SCRIPT = fileURLToPath(new URL('./python-gitlab.py', import.meta.url))

test('python-gitlab lists, creates, comments, approves, merges and closes merge requests', async (context) => {
  if (PYTHON === undefined) context.skip('python3-gitlab is not installed; apt-get install python3-gitlab brings it')
  const target = await openGitLabTarget()
  context.onTestFinished(() => target.close())
  context.skip(!target.isSandbox, 'it shows that the sandbox is one that this client takes for a GitLab')
  const { path } = await createContractProject(target, 'python')
  const args = [SCRIPT, target.url, target.ownerToken, target.developer.token, path]
  const { stdout } = await run(PYTHON ?? '', args, { timeout: 60_000 })
  expect(JSON.parse(stdout)).toEqual({
    user: 'olga',
    default_branch: 'main',
    listed: ['Add file 0', 'Add file 1', 'Add file 2'],
    total: 3,
    notes: ['Seen and changed by python'],
    approved_by: ['dan'],
    stale: { status: 409, text: expect.stringMatching(/^SHA does not match HEAD of source branch: [0-9a-f]{40}$/) },
    state: 'merged',
    file: '0\n',
    missing: { status: 404, text: '404 Not found' },
    closed: ['Add file 1'],
  })
}, 90_000)
