import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aNote, startTestApi, type TestApi, UNKNOWN_ID } from '../../test/support/api.ts'
import { aBlocker } from '../../test/support/fake-queue.ts'
import { type Run, type RunOptions, startWq, WQ } from '../../test/support/wq.ts'

let directory: string
let api: TestApi
let url: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wq-cli-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))
beforeEach(async () => {
  api = await startTestApi()
  url = await api.app.listen({ host: '127.0.0.1', port: 0 })
  return async () => {
    api.app.server.closeAllConnections()
    await api.app.close()
  }
})

/** Runs the real program; the address and a token of all rights are in its environment. */
function start(args: readonly string[], options: Partial<RunOptions> = {}): Run {
  return startWq(args, { env: { WQ_URL: url, WQ_TOKEN: api.tokens.all.token }, cwd: directory, ...options })
}

const run = (args: readonly string[], options?: Partial<RunOptions>) => start(args, options).ended

describe('wq submit', () => {
  test('reads YAML, prints the outcome and how to follow it', async () => {
    await writeFile(join(directory, 'note.yaml'), 'item_type: note\nname: greeting\ntext: |\n  hello\n')
    const { status, out, err } = await run(['submit', 'note.yaml'])
    expect([status, err]).toEqual([0, ''])
    expect(out).toMatch(/^created [0-9a-f-]{36} {2}note:greeting\nFollow it with: wq watch [0-9a-f-]{36}\n$/)
  })

  test('reads JSON from standard input, and speaks JSON to programs', async () => {
    const { status, out } = await run(['submit', '-', '--json'], { input: JSON.stringify(aNote) })
    expect(status).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ outcome: 'created', work_item: { dedup_key: 'note:greeting' } })
  })

  test('lists every finding on standard error, a line each', async () => {
    const { status, out, err } = await run(['submit', '-'], { input: '{"item_type":"note","nam":"x"}' })
    expect([status, out]).toEqual([8, ''])
    expect(err.split('\n')).toEqual([
      'error: The service refused the submission:',
      '  /name  "name" is required.',
      '  /text  "text" is required.',
      '  /nam  "nam" is not a known field; remove it or correct its name.',
      '',
    ])
  })

  test.each<[string, string, string]>([
    ['JSON with a fault', '{"item_type": "note",}', 'not valid JSON: line 1, column 22: expected a field name'],
    ['YAML with a fault', 'item_type: note\ntext: "open\n', 'not valid YAML: line'],
    ['YAML with a key twice', 'a: 1\na: 2\n', 'not valid YAML: line 2, column 1: Map keys must be unique'],
    ['a list', '- a\n', 'must hold one submission'],
    ['nothing', '', 'is empty'],
  ])('names the place in %s', async (_title, input, message) => {
    const { status, err } = await run(['submit', '-'], { input })
    expect(status).toBe(2)
    expect(err).toMatch(/^error: standard input /)
    expect(err).toContain(message)
  })

  test.each<[string, Buffer | string, number, string]>([
    ['is not UTF-8', Buffer.from('item_type: note\nname: Gr\xfc\xdfe\ntext: x\n', 'latin1'), 2, 'is not UTF-8'],
    ['is empty', '', 2, 'is empty'],
    ['is too large', `item_type: note\nname: big\ntext: ${'x'.repeat(9_000_000)}\n`, 8, 'at most 8388608'],
  ])('refuses a file that %s, and sends nothing', async (_title, content, status, part) => {
    const file = join(directory, 'odd.yaml')
    await writeFile(file, content)
    const ended = await start(['submit', file]).ended
    expect(ended).toMatchObject({ status, out: '', err: expect.stringContaining(part) })
  })

  test('names a file that is not there', async () => {
    const { status, err } = await run(['submit', 'nope.yaml'])
    expect(status).toBe(2)
    expect(err).toContain('nope.yaml cannot be read')
  })

  test('watches to the end when asked', async () => {
    const watching = start(['submit', '-', '--watch', '--interval', '20ms'], { input: JSON.stringify(aNote) })
    await watching.sees('active')
    const [created] = (await api.queue.list({ limit: 1 })).items
    api.queue.change(created?.item.id ?? '', { phase: 'completed', resolution: 'merged' })
    const { status, out } = await watching.ended
    expect(status).toBe(0)
    expect(out).toContain('completed (merged)')
  })
})

describe('wq watch', () => {
  test.each([
    ['completed', 'merged', 0],
    ['failed', 'branch_not_owned', 3],
    ['cancelled', 'closed', 4],
  ] as const)('prints each change once, and ends %s (%s) with %i', async (phase, resolution, expected) => {
    const id = await api.submitted()
    const watching = start(['watch', id, '--interval', '20ms'])
    await watching.sees('active\n')
    api.queue.present(id, { blockers: [aBlocker], links: [{ name: 'merge request', url: 'https://gitlab.example/1' }] })
    await watching.sees(
      'The pipeline is running. (up to CI, since 2026-03-02 10:00:00 UTC)  https://gitlab.example/1\n',
    )
    api.queue.change(id, { phase, resolution })
    const { status, out } = await watching.ended
    expect(status).toBe(expected)
    expect(out.trimEnd().split('\n')).toHaveLength(3)
    expect(out).toContain(`${phase} (${resolution})`)
  })

  test('gives up after the timeout, and says that the work goes on', async () => {
    const id = await api.submitted()
    const { status, err } = await run(['watch', id, '--interval', '20ms', '--timeout', '100ms'])
    expect(status).toBe(5)
    expect(err).toContain('It goes on')
  })

  test('waits out an outage of the service', async () => {
    const id = await api.submitted()
    const watching = start(['watch', id, '--interval', '20ms'])
    await watching.sees('active\n')
    const { port } = new URL(url)
    api.app.server.closeAllConnections()
    await api.app.close()
    await watching.complains('Still watching')
    const again = await startTestApi({ queue: api.queue, authenticator: api.authenticator })
    await again.app.listen({ host: '127.0.0.1', port: Number(port) })
    api.queue.change(id, { phase: 'completed', resolution: 'merged' })
    expect((await watching.ended).status).toBe(0)
    await again.app.close()
  })

  test('prints JSON lines to programs', async () => {
    const id = await api.submitted()
    api.queue.change(id, { phase: 'completed', resolution: 'empty' })
    const { out } = await run(['watch', id, '--json'])
    expect(JSON.parse(out)).toMatchObject({ id, phase: 'completed', resolution: 'empty' })
  })
})

describe('wq list and show', () => {
  test('prints a table without colour and control characters when nobody looks', async () => {
    const id = await api.submitted()
    api.queue.present(id, { summary: 'evil \u001b[31mred\u001b[0m\nsecond \u202eline' })
    const { status, out } = await run(['list', '--phase', 'active'])
    expect(status).toBe(0)
    const [head, line] = out.split('\n')
    expect(head).toMatch(/^ID +PHASE +UPDATED/)
    expect(line).toContain(`${id}  active`)
    expect(line).toMatch(/evil \[31mred \[0m second line$/)
  })

  test('says how to get the next page', async () => {
    for (const name of ['a', 'b']) await api.submitted({ ...aNote, name })
    const { out } = await run(['list', '--limit', '1'])
    const before = /--before ([0-9a-f-]{36})/.exec(out)?.[1] ?? ''
    expect((await run(['list', '--before', before])).out).toContain('note:a')
  })

  test('shows what an item waits for, and on whom', async () => {
    const id = await api.submitted()
    api.queue.present(id, { blockers: [aBlocker] })
    const { out } = await run(['show', id])
    expect(out).toContain('The pipeline is running. (up to CI, since 2026-03-02 10:00:00 UTC)')
    expect(out).toMatch(/needs_look +needed/)
    expect(JSON.parse((await run(['show', id, '--json'])).out)).toMatchObject({ id, blockers: [{ cleared_by: 'CI' }] })
  })
})

describe('wq retry and cancel', () => {
  test('ask the service, and say what they did', async () => {
    const id = await api.submitted()
    api.queue.change(id, { phase: 'failed' })
    expect((await run(['retry', id])).out).toContain(`${id} is active.`)
    expect((await run(['cancel', id])).out).toContain(`${id} is being cancelled.`)
    api.queue.change(id, { phase: 'completed' })
    const { status, err } = await run(['retry', id])
    expect(status).toBe(10)
    expect(err).toContain('is completed')
  })
})

describe('wq queue', () => {
  const asOperator = (args: readonly string[]) => run([...args, '--token', api.tokens.operator.token])

  test('status tells what the queue is doing, to people and to programs', async () => {
    const { status, out, err } = await asOperator(['queue', 'status'])
    expect([status, err]).toEqual([0, ''])
    expect(out).toMatch(/^Queue of note, memo, 2026-03-02 03:00:00 UTC\n/)
    expect(out).toContain('Nothing calls for you.')
    expect(JSON.parse((await asOperator(['queue', 'status', '--json'])).out)).toMatchObject({ total: { due: 0 } })
  })

  test('status is refused to whoever is no operator', async () => {
    const { status, err } = await run(['queue', 'status'])
    expect(status).toBe(7)
    expect(err).toContain('lacks the permission "admin"')
  })

  test('dead-events and revive lead from what was set aside to another try', async () => {
    const item = await api.submitted()
    const event = await api.admin.addDead(item, { error: 'no\u001b job' })
    const { out } = await asOperator(['queue', 'dead-events'])
    expect(out).toMatch(new RegExp(`^${event} +pipeline +2026-03-02 03:00:00 +${item} +active +no job$`, 'm'))
    expect((await asOperator(['queue', 'revive', event])).out).toContain(
      `Event ${event} (pipeline) of ${item} is tried`,
    )
    const again = await asOperator(['queue', 'revive', event])
    expect([again.status, again.err]).toEqual([9, `error: There is no dead event ${event}.\n`])
    expect((await asOperator(['queue', 'dead-events'])).out).toBe('No dead event fits.\n')
  })

  test('revive --item takes all events of an item, unless it is over', async () => {
    const item = await api.submitted()
    for (let index = 0; index < 2; index += 1) await api.admin.addDead(item)
    expect((await asOperator(['queue', 'dead-events', '--item', item, '--limit', '1'])).out).toContain('--before 2')
    api.queue.change(item, { phase: 'failed' })
    expect((await asOperator(['queue', 'revive', '--item', item])).status).toBe(10)
    api.queue.change(item, { phase: 'active' })
    const { out } = await asOperator(['queue', 'revive', '--item', item, '--json'])
    expect(JSON.parse(out).events).toHaveLength(2)
  })

  test.each([
    [['revive'], 2, 'Name one dead event'],
    [['revive', '1', '--item', UNKNOWN_ID], 2, 'not both'],
    [['revive', 'first'], 8, 'must be the number of an event'],
    [['dead-events', '--limit', '0'], 2, 'A page holds 1 to 100.'],
    [['dead-events', '--item', 'x'], 8, 'work_item_id'],
    [['statsu'], 2, "unknown command 'statsu'"],
  ])('answers %j with status %i and what is wrong', async (args, status, message) => {
    const ended = await asOperator(['queue', ...args])
    expect(ended.status).toBe(status)
    expect(ended.err).toContain(message)
  })
})

describe('where the service is', () => {
  const local = async (token: string, address = url) => {
    const cwd = await mkdtemp(join(directory, 'local-'))
    await mkdir(join(cwd, '.workqueue'))
    await writeFile(join(cwd, '.workqueue', 'local.json'), JSON.stringify({ url: address, token }))
    return cwd
  }

  test('is found in the file of local mode', async () => {
    const cwd = await local(api.tokens.all.token)
    expect(await run(['list'], { cwd, env: {} })).toMatchObject({ status: 0, out: 'No work item fits.\n' })
  })

  test('keeps the token of local mode from every other address', async () => {
    const cwd = await local(api.tokens.all.token, 'http://127.0.0.1:9')
    const { status, err } = await run(['list', '--url', url], { cwd, env: {} })
    expect(status).toBe(2)
    expect(err).toContain(`No token for ${url}: give --token-file or set WQ_TOKEN.`)
  })

  test('takes a token from a file, and names a file that holds something else', async () => {
    const file = join(directory, 'token')
    await writeFile(file, `${api.tokens.all.token}\n`)
    await chmod(file, 0o600)
    const env = { WQ_URL: url }
    expect((await run(['list', '--token-file', file], { env })).status).toBe(0)
    await writeFile(file, 'two words\n')
    const { status, err } = await run(['list', '--token-file', file], { env })
    expect([status, err]).toEqual([2, `error: The token file ${file} must hold one token and nothing else.\n`])
  })

  test('is named when nobody listens there', async () => {
    await api.app.close()
    const { status, err } = await run(['list'])
    expect(status).toBe(6)
    expect(err).toContain(`The service at ${url} is not reachable (nothing listens there)`)
  })

  test('tells a program about errors in JSON', async () => {
    const { status, err } = await run(['show', UNKNOWN_ID, '--json'])
    expect(status).toBe(9)
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'work_item_not_found', exit_status: 9 } })
  })

  test('is denied to a bad token', async () => {
    expect((await run(['list', '--token', 'nonsense'])).status).toBe(7)
  })
})

describe('wq itself', () => {
  test('runs through a link, from anywhere', async () => {
    const link = join(directory, 'wq-link')
    await symlink(WQ, link)
    expect(await run(['--version'], { command: link, cwd: tmpdir() })).toMatchObject({ status: 0 })
  })

  test.each([
    [['lst'], '(Did you mean list?)'],
    [['list', '--phse', 'x'], '(Did you mean --phase?)'],
    [['list', '--phase', 'done'], 'Allowed choices are active, completed, failed, cancelled'],
    [['list', '--limit', '0'], 'A page holds 1 to 100.'],
    [['watch'], "missing required argument 'id'"],
    [['watch', 'x', '--timeout', 'soon'], 'Write a duration such as'],
  ])('answers %j with what is wrong and status 2', async (args, message) => {
    const { status, err } = await run(args)
    expect(status).toBe(2)
    expect(err).toContain(message)
  })

  test('makes a token whose rule lets its caller in', async () => {
    const { token, token_sha256 } = JSON.parse((await run(['token', '--json'])).out)
    expect(token).toMatch(/^wq_[A-Za-z0-9_-]{43}$/)
    const text = (await run(['token', 'ci'])).out
    expect(text).toContain('- name: "ci"')
    expect(text).not.toContain(token_sha256)
  })
})
