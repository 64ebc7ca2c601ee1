import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWq } from '../../test/support/wq.ts'
import { loadConfig } from '../app/config.ts'
import { DURATION_KEYS } from './config-check.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wq-config-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

test('prints durations as they are written, so that what it prints is a configuration of the same meaning', async () => {
  const file = join(directory, 'config.yaml')
  const [hash, settled] = ['0'.repeat(64), join(directory, 'settled.yaml')]
  await writeFile(
    file,
    `handled_types: [mr]
auth: { rules: [{ name: ci, token_sha256: '${hash}', permissions: [submit] }] }
gitlab: { url: https://gitlab.example.com, token: glpat-secret-of-this-test }
mr: { projects: [{ path: g/p, expires_after: 36h }], pipeline_poll: 1500ms }
`,
  )
  const { status, out } = await startWq(['config', 'check', file], { env: {}, cwd: directory }).ended
  expect(status).toBe(0)
  for (const line of ['expires_after: 36h', 'pipeline_poll: 1500ms', 'retention: 90d', 'sweep_interval: 1s']) {
    expect(out).toContain(line)
  }
  expect(out).not.toContain('glpat-secret')
  await writeFile(settled, out)
  const [before, after] = [await loadConfig(file, {}), await loadConfig(settled, {})]
  expect(after).toEqual({ ...before, gitlab: { ...before.gitlab, token: '***' } })
})

test('reads the file of the token, and says what is wrong with it but not what it holds', async () => {
  const [file, token] = [join(directory, 'with-file.yaml'), join(directory, 'token')]
  await writeFile(
    file,
    `auth: { rules: [{ name: ci, token_sha256: '${'0'.repeat(64)}', permissions: [submit] }] }
gitlab: { url: https://gitlab.example.com, token_file: ${token} }
mr: { projects: [{ path: g/p }] }
`,
  )
  const check = () => startWq(['config', 'check', file], { env: {}, cwd: directory }).ended
  expect((await check()).status).not.toBe(0)
  await writeFile(token, 'glpat-one glpat-two')
  const spoilt = await check()
  expect(spoilt.status).not.toBe(0)
  expect(spoilt.err).toContain('one access token')
  expect(spoilt.err).not.toContain('glpat')
  await writeFile(token, 'glpat-one\n')
  expect((await check()).status).toBe(0)
})

test('knows every key that is a duration', () => {
  const sources = globSync('src/**/*.ts', { exclude: (name) => name.endsWith('.test.ts') })
  const keys = sources.flatMap((name) =>
    [...readFileSync(name, 'utf8').matchAll(/(\w+): durationSchema/g)].map(([, key = '']) => key),
  )
  expect(keys.length).toBeGreaterThan(10)
  expect(keys.filter((key) => !DURATION_KEYS.has(key))).toEqual([])
})
