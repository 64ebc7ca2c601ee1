import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gitlabConfigSchema, gitlabToken } from './config.ts'

describe('gitlabConfigSchema', () => {
  test('takes an https address and drops its trailing slash', () => {
    expect(gitlabConfigSchema.parse({ url: 'https://gitlab.example.com/', token: 't' })).toEqual({
      url: 'https://gitlab.example.com',
      token: 't',
      timeout: 30_000,
      breaker: { failures: 10, open_for: 15_000, max_open_for: 120_000 },
    })
  })

  test.each(['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:3000', 'https://example.com/gitlab'])(
    'takes %s',
    (url) => {
      expect(gitlabConfigSchema.parse({ url, token: 't' }).url).toBe(url)
    },
  )

  test.each<[string, string]>([
    ['http://gitlab.example.com', 'https'],
    ['ftp://gitlab.example.com', 'address of GitLab'],
    ['gitlab.example.com', 'address of GitLab'],
    ['https://user:secret@gitlab.example.com', 'user and password'],
    ['https://gitlab.example.com?x=1', '?'],
    ['https://gitlab.example.com#x', '#'],
  ])('refuses %s with a word on %s', (url, word) => {
    const result = gitlabConfigSchema.safeParse({ url, token: 't' })
    expect(result.error?.issues[0]?.message).toContain(word)
  })

  test('wants exactly one source of the token', () => {
    const url = 'https://gitlab.example.com'
    for (const given of [{ url }, { url, token: 't', token_file: '/f' }]) {
      expect(gitlabConfigSchema.safeParse(given).error?.issues[0]?.message).toContain('exactly one')
    }
  })
})

test('a token file that cannot be read is a transient failure', async () => {
  await expect(gitlabToken({ token_file: '/nowhere/token' })()).rejects.toMatchObject({
    code: 'gitlab_token_unreadable',
    failure: 'transient',
  })
})

test.each(['new-token\nold-token\n', 'a b', '', 'tökén'])(
  'a token file of %j is refused without a word of it',
  async (text) => {
    const directory = await mkdtemp(join(tmpdir(), 'token-'))
    const file = join(directory, 'token')
    await writeFile(file, text)
    const read = gitlabToken({ token_file: file })()
    await expect(read).rejects.toMatchObject({
      code: 'gitlab_token_unreadable',
      message: 'The token file of GitLab must hold one access token and nothing else.',
    })
    await rm(directory, { recursive: true })
  },
)
