import { describe, expect, test } from 'vitest'
import { mrPolicy, mrSubmission, touching } from '../../../../test/support/mr-item.ts'
import { createInspector } from './inspector.ts'

function findings(
  submission: Readonly<Record<string, unknown>>,
  project: Readonly<Record<string, unknown>> = {},
  limits: Readonly<Record<string, number>> = {},
): Promise<readonly string[]> {
  const inspector = createInspector(mrPolicy(project, limits))
  return inspector.inspect(mrSubmission(submission)).then((found) => found.map(({ code, path }) => `${code} ${path}`))
}

const files = (...file_actions: object[]) => ({ file_actions })
const anywhere = [{ format: 'any', paths: ['**'] }]
const create = (file_path: string, content = 'x') => ({ action: 'create', file_path, content })

test('an ordinary submission has no findings', async () => {
  expect(await findings({})).toEqual([])
})

test('all findings come at once, each with a sentence', async () => {
  const inspector = createInspector(mrPolicy())
  const found = await inspector.inspect(
    mrSubmission({
      source_branch: 'refs/heads/x',
      title: 'Fix [skip ci]',
      ...files(create('../x'), create('CODEOWNERS')),
    }),
  )
  expect(found.map(({ path }) => path)).toEqual([
    '/source_branch',
    '/title',
    '/commit_message',
    '/file_actions/0/file_path',
    '/file_actions/1/file_path',
  ])
  for (const { message } of found) expect(message).toMatch(/^[A-Z].*\.$/s)
})

describe('the project', () => {
  test('must be configured', async () => {
    expect(await findings({ project: 'group/other' })).toEqual(['project_not_configured /project'])
  })

  test('is found whatever the case of its path', async () => {
    expect(await findings({ project: 'GROUP/Widgets' })).toEqual([])
    expect(createInspector(mrPolicy()).policyOf('group/WIDGETS')?.path).toBe('Group/widgets')
  })

  test('is not an accident of JavaScript', async () => {
    expect(await findings({ project: '__proto__' })).toEqual(['project_not_configured /project'])
  })
})

describe('every path of every action', () => {
  test.each<[string, object, string]>([
    ['create', create('CODEOWNERS'), 'file_path'],
    ['update', { action: 'update', file_path: 'CODEOWNERS', content: '' }, 'file_path'],
    ['upsert', { action: 'upsert', file_path: 'CODEOWNERS', content: '' }, 'file_path'],
    ['delete', { action: 'delete', file_path: 'CODEOWNERS' }, 'file_path'],
    ['chmod', { action: 'chmod', file_path: 'CODEOWNERS', execute_filemode: true }, 'file_path'],
    ['the new end of a move', { action: 'move', file_path: 'CODEOWNERS', previous_path: 'a' }, 'file_path'],
    ['the old end of a move', { action: 'move', file_path: 'a', previous_path: 'CODEOWNERS' }, 'previous_path'],
  ])('is judged: %s', async (_title, action, key) => {
    expect(await findings(files(action))).toEqual([`path_blocked /file_actions/0/${key}`])
  })

  test('is shown short and with its invisible characters spelt out', async () => {
    const [finding] = await createInspector(mrPolicy()).inspect(touching('a\u202eb'))
    expect(finding?.message).toContain('a\\u{202e}b')
  })
})

describe('actions that conflict', () => {
  test.each<[string, object[], string]>([
    ['the same path twice', [create('a'), create('a')], 'path_twice /file_actions/1/file_path'],
    ['the same path in another case', [create('a/B'), create('A/b')], 'path_twice /file_actions/1/file_path'],
    [
      'a path and the source of a move',
      [create('a'), { action: 'move', file_path: 'b', previous_path: 'a' }],
      'path_twice /file_actions/1/previous_path',
    ],
    [
      'a move onto itself',
      [{ action: 'move', file_path: 'a', previous_path: 'a' }],
      'path_twice /file_actions/0/previous_path',
    ],
    ['a file that is a directory', [create('a'), create('A/b')], 'file_is_directory /file_actions/1/file_path'],
  ])('are refused: %s', async (_title, actions, finding) => {
    expect(await findings(files(...actions))).toEqual([finding])
  })
})

describe('limits', () => {
  test('count actions', async () => {
    expect(await findings(files(create('a'), create('b')), {}, { max_actions: 1 })).toEqual([
      'too_many_actions /file_actions',
    ])
  })

  test('measure a file in decoded bytes', async () => {
    const exact = { ...create('a', Buffer.alloc(10).toString('base64')), encoding: 'base64' }
    expect(await findings(files(exact), { binary_files: anywhere }, { max_file_bytes: 10 })).toEqual([])
    expect(await findings(files(exact), {}, { max_file_bytes: 9 })).toEqual(['file_too_large /file_actions/0/content'])
    expect(await findings(files(create('a', 'ä'.repeat(5))), {}, { max_file_bytes: 9 })).toHaveLength(1)
  })

  test('measure all files together', async () => {
    const limits = { max_file_bytes: 10, max_total_bytes: 15 }
    expect(await findings(files(create('a', 'x'.repeat(8)), create('b', 'x'.repeat(8))), {}, limits)).toEqual([
      'submission_too_large /file_actions',
    ])
  })

  test('are judged without looking at anything twice, however hostile', async () => {
    const paths = Array.from({ length: 200 }, (_, index) => create(`${'a'.repeat(200)}/${'a'.repeat(200)}${index}`))
    for (const unit of ['/', '@', '<!', 'fix ', 'fixes issue ', 'closes:', '&#', ' ', '\n', '\u00e9@']) {
      const description = `${unit.repeat(400_000 / unit.length)}x`
      expect(await findings({ ...files(...paths), description })).toEqual([])
    }
  })
})

describe('base64', () => {
  test.each(['eA', 'eA=', 'eA==\n', 'e A=', 'eB==', '-_==', 'eA==eA=='])(
    'in the form %j is refused',
    async (content) => {
      expect(await findings(files({ ...create('a', content), encoding: 'base64' }))).toEqual([
        'not_base64 /file_actions/0/content',
      ])
    },
  )

  test.each(['', 'eA==', '+/8='])('in the form %j is taken', async (content) => {
    const given = files({ ...create('a', content), encoding: 'base64' })
    expect(await findings(given, { binary_files: anywhere })).toEqual([])
  })
})

describe('the source branch', () => {
  test.each(['a', 'bot/x_y.z-1', 'HUM-851-fix', 'dependabot/npm/lodash-4.17.21', 'release-1.0'])(
    'may be %s',
    async (name) => {
      expect(await findings({ source_branch: name })).toEqual([])
    },
  )

  test.each([
    'refs/heads/main',
    'heads/main',
    'merge-requests/1/head',
    'HEAD',
    '@',
    '-x',
    'a..b',
    'a//b',
    'a/',
    '/a',
    'a/.b',
    'a.lock',
    'a.',
    'a@{1}',
    'a b',
    'a$(x)',
    'm\u0430in',
    'deadbeef',
    'a'.repeat(200),
    'HEAD/x',
  ])('may not be %s', async (name) => {
    expect(await findings({ source_branch: name })).toContain('branch_name_refused /source_branch')
  })

  test('must match what the project allows, with case', async () => {
    const project = { source_branches: ['bot/**', 'auto-*'] }
    expect(await findings({ source_branch: 'bot/a/b' }, project)).toEqual([])
    expect(await findings({ source_branch: 'auto-1' }, project)).toEqual([])
    for (const source_branch of ['Bot/a', 'auto-1/x', 'feature']) {
      expect(await findings({ source_branch }, project)).toEqual(['source_branch_not_allowed /source_branch'])
    }
  })

  test('must not be the target, in any case', async () => {
    expect(await findings({ source_branch: 'Next', target_branch: 'next' })).toContain(
      'source_is_target /source_branch',
    )
    expect(await findings({ source_branch: 'next' }, { target_branches: ['main', 'next'] })).toContain(
      'source_is_target /source_branch',
    )
  })

  test('must not lie above or below the target, where Git cannot keep both', async () => {
    for (const source of ['next/x', 'NEXT/x']) {
      expect(await findings({ source_branch: source, target_branch: 'next' })).toContain(
        'source_is_target /source_branch',
      )
    }
    expect(await findings({ source_branch: 'next', target_branch: 'next/x' })).toContain(
      'source_is_target /source_branch',
    )
    expect(await findings({ source_branch: 'next-x', target_branch: 'next' })).toEqual([])
  })
})

test('the target must be one that the project lists', async () => {
  const project = { target_branches: ['main', 'next'] }
  expect(await findings({ target_branch: 'next' }, project)).toEqual([])
  expect(await findings({ target_branch: 'Main' }, project)).toEqual(['target_branch_not_allowed /target_branch'])
})

describe('text', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['a line break in the title', { title: 'a\nb', commit_message: 'x' }, 'control_characters /title'],
    ['an escape in the description', { description: '\u001b[31m' }, 'control_characters /description'],
    ['a bell in the commit message', { commit_message: 'a\u0007' }, 'control_characters /commit_message'],
    ['bidi controls', { description: 'a\u202eb' }, 'hidden_characters /description'],
    ['a character without width', { commit_message: 'a\u200bb' }, 'hidden_characters /commit_message'],
    ['text in tag characters', { title: 'a\u{e0041}', commit_message: 'x' }, 'hidden_characters /title'],
    [
      'mentions that make it longer than GitLab takes',
      { title: '@a '.repeat(84), commit_message: 'x' },
      'title_too_long /title',
    ],
    ['skip ci in the title', { title: 'x [CI-Skip]', commit_message: 'x' }, 'skip_ci /title'],
    ['skip ci in the commit message', { commit_message: 'x\n\n[skip ci]' }, 'skip_ci /commit_message'],
    ['skip ci around a carriage return', { commit_message: 'x [sk\rip ci]' }, 'control_characters /commit_message'],
    ['a trailer around one', { commit_message: 'x\n\nWork\rqueue-Item: 1' }, 'control_characters /commit_message'],
    [
      'a trailer behind a Windows line',
      { commit_message: 'x\r\n\r\nApproved-by: B' },
      'reserved_trailer /commit_message',
    ],
    ["the service's own mark", { commit_message: 'x\n\nWorkqueue-Item: 1' }, 'reserved_trailer /commit_message'],
    ['a signature', { commit_message: 'x\n\n signed-off-by: Ann' }, 'reserved_trailer /commit_message'],
    ['a blank title', { title: '  ', commit_message: 'x' }, 'blank_text /title'],
    ['a draft that shall merge', { title: 'Draft: x', auto_merge: true }, 'draft_never_merges /title'],
  ])('with %s is refused', async (_title, given, finding) => {
    expect(await findings(given)).toEqual([finding])
  })

  test.each<[string, Record<string, unknown>]>([
    ['tabs and line breaks in a description', { description: 'a\r\n\tb\n' }],
    ['a quick action, which is made harmless on the way out', { description: '/merge' }],
    ['skip ci in a description, where it does nothing', { description: 'about [skip ci]' }],
    ['a draft that waits for a person', { title: 'Draft: x' }],
    ['other trailers', { commit_message: 'x\n\nRefs: #1' }],
  ])('with %s is taken', async (_title, given) => {
    expect(await findings(given)).toEqual([])
  })
})

describe('text that GitLab acts on', () => {
  const text = { description: 'For @root.\n\nCloses #1\n\n<!-- psst -->' }

  test('is taken, because it is made harmless on its way out', async () => {
    expect(await findings(text)).toEqual([])
    expect(await findings(text, { text: { mentions: 'allow', closing_words: 'allow', html: 'allow' } })).toEqual([])
  })

  test('is refused where the project says so, each kind for itself', async () => {
    const refused = (kind: string) => findings(text, { text: { [kind]: 'refuse' } })
    expect(await refused('mentions')).toEqual(['mention_refused /description'])
    expect(await refused('closing_words')).toEqual(['closing_word_refused /description'])
    expect(await refused('html')).toEqual(['html_refused /description'])
    const commit_message = 'Mend it\n\nFixes group/project#2'
    expect(await findings({ commit_message }, { text: { closing_words: 'refuse' } })).toEqual([
      'closing_word_refused /commit_message',
    ])
  })
})

describe('labels', () => {
  test('are free, but for scoped ones', async () => {
    expect(await findings({ labels: ['bot', 'needs review'] })).toEqual([])
    expect(await findings({ labels: ['bot', 'priority::high'] })).toEqual(['label_not_allowed /labels/1'])
  })

  test('are those of the project where it lists them', async () => {
    const project = { allow_labels: ['bot', 'area::*'] }
    expect(await findings({ labels: ['bot', 'area::docs'] }, project)).toEqual([])
    expect(await findings({ labels: ['Bot', 'other'] }, project)).toEqual([
      'label_not_allowed /labels/0',
      'label_not_allowed /labels/1',
    ])
  })
})
