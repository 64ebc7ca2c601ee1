/** The checked-in table types are the witness of what the migrations make (decision 0056). */
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TIMEOUT_MS = 60_000

test('src/db/schema.ts is what the migrations make; if not: npm run db:types', { timeout: TIMEOUT_MS }, () => {
  const path = [join(ROOT, 'node_modules', '.bin'), process.env['PATH']].join(delimiter)
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/db-types.ts', '--verify'], {
    cwd: ROOT,
    env: { ...process.env, PATH: path },
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
  })
  expect({ status, output: status === 0 ? '' : `${stdout}${stderr}` }).toEqual({ status: 0, output: '' })
})
