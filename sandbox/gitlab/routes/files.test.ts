import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ files: { 'README.md': '# Widgets\n', 'src/a.txt': 'a\n', 'src/deep/b.txt': 'b\n' } })
})

afterAll(() => server.remove())

test('a tree lists one directory, or all below, directories first', async () => {
  const paths = async (query: string) =>
    (await server.call('GET', `/repository/tree?${query}`)).list.map((entry) => entry['path'])
  expect(await paths('')).toEqual(['src', 'README.md'])
  expect(await paths('path=src&ref=main')).toEqual(['src/deep', 'src/a.txt'])
  expect(await paths('recursive=true')).toEqual(['src', 'src/deep', 'README.md', 'src/a.txt', 'src/deep/b.txt'])
  expect(await paths('recursive=true&per_page=2&page=2')).toEqual(['README.md', 'src/a.txt'])
  const missing = await server.call('GET', '/repository/tree?path=nowhere')
  expect([missing.status, missing.json]).toEqual([404, { message: '404 Tree Not Found' }])
})

test('compare tells three-dot from two-dot', async () => {
  await server.commit('side', { 'side.txt': 's\n' })
  await server.commit('ahead', { 'ahead.txt': 'a\n' })
  const paths = async (query: string) => {
    const { json } = await server.call('GET', `/repository/compare?${query}`)
    return (json['diffs'] as { new_path: string; deleted_file: boolean }[])
      .map((diff) => `${diff.deleted_file ? '-' : '+'}${diff.new_path}`)
      .sort()
  }
  expect(await paths('from=ahead&to=side')).toEqual(['+side.txt'])
  expect(await paths('from=ahead&to=side&straight=true')).toEqual(['+side.txt', '-ahead.txt'])
  const missing = await server.call('GET', '/repository/compare?from=main&to=nowhere')
  expect([missing.status, missing.json]).toEqual([404, { message: '404 Ref Not Found' }])
})

test('compare shows renames and mode changes', async () => {
  const branch = 'renamed'
  const actions = [
    { action: 'move', previous_path: 'src/a.txt', file_path: 'src/z.txt' },
    { action: 'chmod', file_path: 'README.md', execute_filemode: true },
  ]
  const body = { branch, start_branch: 'main', commit_message: 'Rename', actions }
  expect((await server.call('POST', '/repository/commits', body)).status).toBe(201)
  const { json } = await server.call('GET', `/repository/compare?from=main&to=${branch}`)
  expect(json['diffs']).toEqual([
    expect.objectContaining({ new_path: 'README.md', a_mode: '100644', b_mode: '100755', diff: '' }),
    expect.objectContaining({ old_path: 'src/a.txt', new_path: 'src/z.txt', renamed_file: true }),
  ])
})

test('a file comes as JSON, raw, and as headers', async () => {
  const path = '/repository/files/src%2Fdeep%2Fb.txt'
  const { json } = await server.call('GET', `${path}?ref=main`)
  expect(json).toMatchObject({ file_path: 'src/deep/b.txt', size: 2, encoding: 'base64', content: 'Ygo=' })
  const head = await server.call('HEAD', `${path}?ref=main`)
  expect(head.status).toBe(200)
  expect(head.headers.get('x-gitlab-blob-id')).toBe(json['blob_id'])
  expect(head.headers.get('x-gitlab-size')).toBe('2')
  const raw = await server.call('GET', `${path}/raw`)
  expect([raw.text, raw.headers.get('x-gitlab-last-commit-id')]).toEqual(['b\n', json['last_commit_id']])
  const missing = await server.call('GET', '/repository/files/no/raw?ref=main')
  expect([missing.status, missing.json]).toEqual([404, { message: '404 File Not Found' }])
  const nowhere = await server.call('GET', '/repository/files/README.md/raw?ref=nowhere')
  expect([nowhere.status, nowhere.json]).toEqual([404, { message: '404 Commit Not Found' }])
})

test('commit lists have pages without totals', async () => {
  for (let number = 0; number < 6; number += 1) await server.commit('crowd', { n: `${number}` })
  const { headers, list } = await server.call('GET', '/repository/commits?ref_name=crowd&per_page=3&page=2')
  expect(list).toHaveLength(3)
  expect(headers.get('x-next-page')).toBe('3')
  expect(headers.get('x-total')).toBeNull()
  expect(headers.get('link')).not.toContain('rel="last"')
})
