import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mrBody, mrPolicy, mrSubmission } from '../../../../test/support/mr-item.ts'
import { mrConfigSchema } from '../config.ts'
import { mrSubmissionSchema } from '../schema.ts'
import { createInspector } from './inspector.ts'
import { SECRET_RULES } from './secret-rules.ts'

type Given = Readonly<Record<string, unknown>>

async function findings(submission: Given, project: Given = {}): Promise<readonly string[]> {
  const found = await createInspector(mrPolicy(project)).inspect(mrSubmission(submission))
  return found.map(({ code, path }) => `${code} ${path}`)
}

const at = (file_path: string, content: string) => ({ file_actions: [{ action: 'create', file_path, content }] })
const text = (content: string) => at('docs/a.md', content)
const bytes = (file_path: string, content: Uint8Array) => {
  const base64 = Buffer.from(content).toString('base64')
  return { file_actions: [{ action: 'create', file_path, content: base64, encoding: 'base64' }] }
}

/** A secret of this rule, as a text that holds it. */
function secretOf(id: string): string {
  const rule = SECRET_RULES.find((known) => known.id === id)
  if (rule === undefined) throw new Error(`no rule ${id}`)
  return rule.sample
}
const SECRET = secretOf('gitlab_access_token')

const POINTER = 'version https://git-lfs.github.com/spec/v1\noid sha256:1\n'
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 1])

describe('the content of a file', () => {
  test.each<[string, Given, string]>([
    ['NUL after much text', bytes('a', Buffer.concat([Buffer.alloc(10_000, 'x'), Buffer.alloc(1)])), 'binary_file'],
    ['a broken tail', bytes('a', Buffer.concat([Buffer.alloc(10_000, 'x'), Buffer.from([0xc3])])), 'binary_file'],
    ['a text in UTF-16', bytes('a', Buffer.from('abc', 'utf16le')), 'binary_file'],
    ['a pointer to a large file', text(POINTER), 'lfs_pointer'],
    ['such a pointer as base64', bytes('a', Buffer.from(POINTER)), 'lfs_pointer'],
    ['a bidirectional control', text('if (a \u202e) {'), 'hidden_characters'],
    ['the same as base64', bytes('a', Buffer.from('if (a \u2066) {')), 'hidden_characters'],
    ['a character without width', text('to\u200bken'), 'hidden_characters'],
    ['a joiner between plain letters', text('to\u200dken'), 'hidden_characters'],
    ['a text in tag characters', text('x\u{e0041}'), 'hidden_characters'],
    ['a text in variation selectors', text('x\u{e0101}\u{e0102}'), 'hidden_characters'],
    ['the same in the older ones', text('x\ufe01\ufe02'), 'hidden_characters'],
    ['a letter that cannot be seen', text('const \u3164 = 1'), 'hidden_characters'],
    ['a line separator', text('// x\u2028run()'), 'hidden_characters'],
    ['an escape', text('x\u001b[2K'), 'hidden_characters'],
    ['a byte order mark inside', text('x\ufeff'), 'hidden_characters'],
  ])('with %s is refused', async (_title, given, code) => {
    expect(await findings(given)).toEqual([`${code} /file_actions/0/content`])
  })

  test.each<[string, Given]>([
    ['a byte order mark in front', text('\ufeffx')],
    ['any language', text('Žluťoučký kůň, 日本語, עברית, می‌خواهم, क्‍ष, emoji 👩‍👩‍👧 ❤️')],
    ['tabs, form feeds and Windows line ends', text('a\tb\r\n\fc')],
    ['nothing', text('')],
  ])('with %s is taken', async (_title, given) => {
    expect(await findings(given)).toEqual([])
  })

  test('may hide characters and point elsewhere where the project says so', async () => {
    const hebrew = at('docs/he/a.md', 'a\u200fb')
    expect(await findings(hebrew, { hidden_characters_in: ['docs/he/**'] })).toEqual([])
    expect(await findings(text(POINTER), { lfs_pointers: true })).toEqual([])
  })

  test('is looked at in updates and moves as well', async () => {
    const [content, previous_path] = ['a\u202eb', 'docs/b.md']
    const actions = ['update', 'upsert', 'move'].map((action, index) => ({
      action,
      file_path: `docs/${index}.md`,
      content,
      ...(action === 'move' ? { previous_path } : {}),
    }))
    expect(await findings({ file_actions: actions })).toEqual(
      [0, 1, 2].map((index) => `hidden_characters /file_actions/${index}/content`),
    )
  })

  test('is named by its line, and nothing of it is said', async () => {
    const [finding] = await createInspector(mrPolicy()).inspect(mrSubmission(text('a\nb\nword\u202e\n')))
    expect(finding?.message).toContain('Line 3 ')
    expect(finding?.message).not.toContain('word')
  })
})

describe('a binary file', () => {
  const png = bytes('img/logo.png', PNG)
  const refused = ['binary_file /file_actions/0/content']

  test('is taken in a format that the project lists, by its extension and its first bytes', async () => {
    const project = { binary_files: [{ format: 'png' }] }
    expect(await findings(png, project)).toEqual([])
    expect(await findings(bytes('img/logo.PNG', PNG), project)).toEqual([])
    expect(await findings(bytes('img/logo.gif', PNG), project)).toEqual(refused)
    expect(await findings(bytes('img/logo.png', Buffer.from('GIF89a\0')), project)).toEqual(refused)
  })

  test('is held to the paths and the size of its format', async () => {
    const within = (given: Given) => findings(png, { binary_files: [{ format: 'png', ...given }] })
    expect(await within({ paths: ['img/**'], max_bytes: PNG.length })).toEqual([])
    expect(await within({ paths: ['media/**'] })).toEqual(refused)
    expect(await within({ max_bytes: PNG.length - 1 })).toEqual(refused)
  })

  test('may be anything where the project says so', async () => {
    const given = bytes('data/a', Buffer.from([0, 255]))
    expect(await findings(given, { binary_files: [{ format: 'any', paths: ['data/*'] }] })).toEqual([])
  })

  test('is searched for secrets', async () => {
    const given = bytes('data/a', Buffer.from(`\0${SECRET}`))
    expect(await findings(given, { binary_files: [{ format: 'any', paths: ['**'] }] })).toEqual([
      'secret_found /file_actions/0/content',
    ])
  })
})

describe('a secret', () => {
  test.each<[string, Given, string]>([
    ['a file', text(SECRET), '/file_actions/0/content'],
    ['a file as base64', bytes('a', Buffer.from(SECRET)), '/file_actions/0/content'],
    ['the title', { title: SECRET, commit_message: 'x' }, '/title'],
    ['the description', { description: SECRET }, '/description'],
    ['the commit message', { commit_message: SECRET }, '/commit_message'],
    ['a label', { labels: ['bug', SECRET] }, '/labels/1'],
    [
      'the name of a file',
      { file_actions: [{ action: 'delete', file_path: `docs/${/[\w-]{20,}/.exec(SECRET)?.[0]}` }] },
      '/file_actions/0/file_path',
    ],
    ['the source branch', { source_branch: `bot/${/[\w-]{20,}/.exec(SECRET)?.[0]}` }, '/source_branch'],
  ])('is found in %s', async (_title, given, path) => {
    expect(await findings(given)).toEqual([`secret_found ${path}`])
  })

  test('is named by its rule and line, and never shown', async () => {
    const found = await createInspector(mrPolicy()).inspect(mrSubmission(text(`a\n\n${SECRET}\n`)))
    expect(found).toHaveLength(1)
    expect(found[0]?.message).toContain('Line 3 holds what looks like an access token of GitLab')
    expect(found[0]?.message).toContain('gitlab_access_token')
    expect(JSON.stringify(found)).not.toContain('glpat-')
  })

  test('is none where the project says so, for this rule and path', async () => {
    const allow = (rule: string, path: string) => findings(text(SECRET), { allow_secrets: [{ rule, paths: [path] }] })
    expect(await allow('gitlab_access_token', 'docs/*.md')).toEqual([])
    expect(await allow('gitlab_access_token', 'test/**')).toHaveLength(1)
    expect(await allow('github_token', 'docs/*.md')).toHaveLength(1)
  })
})

describe("a project's own pattern", () => {
  const rule = { code: 'no_internal_hosts', pattern: String.raw`\bcorp\.example\b`, message: 'Name no internal hosts.' }

  test('refuses what it matches, with its own message', async () => {
    const policy = mrPolicy({ content_rules: [{ ...rule, paths: ['docs/**'] }] })
    const inspector = createInspector(policy)
    const found = await inspector.inspect(mrSubmission(text('see\nx.corp.example\n')))
    expect(found).toEqual([
      {
        code: 'content_refused',
        path: '/file_actions/0/content',
        message: 'Line 2 is refused by the rule no_internal_hosts of this project: Name no internal hosts.',
      },
    ])
    expect(await inspector.inspect(mrSubmission(at('src/a.ts', 'corp.example')))).toEqual([])
    expect(await inspector.inspect(mrSubmission(text('corp example')))).toEqual([])
  })

  test('cannot be one that hangs: what V8 would try for minutes is over at once', async () => {
    const content_rules = [{ ...rule, pattern: '(a+)+$' }]
    expect(await findings(text(`${'a'.repeat(100_000)}b`), { content_rules })).toEqual([])
  })
})

describe('the time for one submission', () => {
  // Each keyword begins what could be a token, and each is as long as the window of the scan.
  const hostile = text('eyJ-'.repeat(250_000))

  test('is limited, and what was not looked at to the end is refused', async () => {
    const config = mrConfigSchema.parse({
      projects: [{ path: 'Group/widgets' }],
      limits: { inspection_budget: '100ms' },
    })
    const inspector = createInspector(config)
    const [over, next] = await Promise.all([
      inspector.inspect(mrSubmission(hostile)),
      inspector.inspect(mrSubmission()),
    ])
    expect(over).toEqual([
      {
        code: 'inspection_over_budget',
        path: '/file_actions',
        message:
          'The content could not be inspected to its end, because that took more than 0.1 seconds; it is refused.',
      },
    ])
    expect(next).toEqual([])
  })

  test('ends with the service: what is in hand then is refused', async () => {
    const inspector = createInspector(mrPolicy())
    const inHand = inspector.inspect(mrSubmission(hostile))
    await inspector.close()
    expect((await inHand).map(({ code }) => code)).toEqual(['inspection_over_budget'])
    expect(await inspector.inspect(mrSubmission())).toEqual([])
  })
})

test('the inspection never throws, whatever the schema lets through', async () => {
  const inspector = createInspector(mrPolicy())
  const anyText = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' })).map((given) => `x${given}`)
  const action = fc.record({
    action: fc.constantFrom('create', 'upsert', 'update'),
    file_path: anyText,
    content: anyText,
    encoding: fc.constantFrom('text', 'base64'),
  })
  const submission = fc.record({
    title: anyText,
    description: anyText,
    source_branch: anyText,
    file_actions: fc.array(action, { minLength: 1, maxLength: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(submission, async (given) => {
      const parsed = mrSubmissionSchema.safeParse(mrBody(given))
      if (!parsed.success) return
      for (const { message } of await inspector.inspect(parsed.data)) expect(message).not.toMatch(/(?<!\\u)\{\w+\}/)
    }),
    { numRuns: 300 },
  )
})

test('files of several pieces are all looked at, each once', async () => {
  const content = `${'x'.repeat(700_000)}\u202e`
  const file_actions = Array.from({ length: 6 }, (_, index) => ({
    action: 'create',
    file_path: `docs/${index}`,
    content,
  }))
  expect(await findings({ file_actions, title: 'x', description: SECRET })).toEqual([
    'secret_found /description',
    ...[0, 1, 2, 3, 4, 5].map((index) => `hidden_characters /file_actions/${index}/content`),
  ])
})
