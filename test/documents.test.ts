/**
 * What the documents say can be checked is checked: links lead somewhere, files they name exist, and every decision that is
 * cited is there and in the index.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseConfig } from '../src/app/config.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

interface Text {
  readonly file: string
  readonly text: string
}

let documents: readonly Text[]
let sources: readonly Text[]
let decisions: readonly string[]

beforeAll(async () => {
  const top = (await readdir(ROOT)).filter((file) => file.endsWith('.md'))
  documents = await read([...top, ...(await filesOf('docs', /\.md$/))])
  const folders = ['src', 'sandbox', 'migrations', 'scripts', 'test']
  sources = await read((await Promise.all(folders.map((folder) => filesOf(folder, /\.(ts|mjs|sql)$/)))).flat())
  decisions = (await readdir(join(ROOT, 'docs/decisions'))).filter((file) => /^\d{4}-/.test(file))
})

async function filesOf(folder: string, pattern: RegExp): Promise<string[]> {
  const files = await readdir(join(ROOT, folder), { recursive: true })
  return files.filter((file) => pattern.test(file)).map((file) => `${folder}/${file}`)
}

function read(files: readonly string[]): Promise<Text[]> {
  return Promise.all(files.map(async (file) => ({ file, text: await readFile(join(ROOT, file), 'utf8') })))
}

/** `file: what` for everything in `texts` that `find` answers and `isFine` does not like. */
function faults(texts: readonly Text[], find: RegExp, isFine: (found: string, file: string) => boolean): string[] {
  return texts.flatMap(({ file, text }) =>
    [...text.matchAll(find)]
      .map(([whole, group]) => group ?? whole)
      .filter((found) => !isFine(found, file))
      .map((found) => `${file}: ${found}`),
  )
}

test('every link in the documents leads to a file', () => {
  const isFine = (target: string, file: string) =>
    /^(https?:|#)/.test(target) || existsSync(join(ROOT, dirname(file), target.replace(/#.*/, '')))
  expect(documents.length).toBeGreaterThan(10)
  expect(faults(documents, /\]\(([^)\s]+)\)/g, isFine)).toEqual([])
})

test('every path of this repository that the documents name exists', () => {
  const path = /`((?:src|sandbox|migrations|scripts|test|docs|bin)\/[\w./-]+)`/g
  expect(faults(documents, path, (found) => existsSync(join(ROOT, found)))).toEqual([])
})

test('every decision that is cited is recorded', () => {
  const recorded = new Set(decisions.map((file) => file.slice(0, 4)))
  const citation = /[Dd]ecisions? (?:\d{4}(?:, | and | to ))*\d{4}/g
  const cited = sources.flatMap(({ file, text }) =>
    // A citation may be broken by the end of a comment line.
    [...text.replace(/\n\s*(\*|--|\/\/)\s*/g, ' ').matchAll(citation)].flatMap(([whole]) =>
      [...whole.matchAll(/\d{4}/g)].map(([number]) => ({ file, number })),
    ),
  )
  expect(cited.length).toBeGreaterThan(10)
  expect(cited.filter(({ number }) => !recorded.has(number))).toEqual([])
})

test('the index lists every decision once', async () => {
  const index = await readFile(join(ROOT, 'docs/decisions/README.md'), 'utf8')
  const listed = [...index.matchAll(/^\| \[\d{4}\]\(([^)]+)\)/gm)].map(([, file]) => file)
  expect(listed.toSorted()).toEqual(decisions.toSorted())
})

test('the configuration in the operations guide is valid, and every key is explained', async () => {
  const guide = await readFile(join(ROOT, 'docs/operations.md'), 'utf8')
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(guide) ?? []
  const config = parseConfig(parse(yaml), {}, 'docs/operations.md')
  const explained = new Set(
    [...guide.matchAll(/`([a-z_]+(?:\[\])?(?:\.[a-z_0-9]+(?:\[\])?)*)`/g)].map(([, key]) => key),
  )
  expect(keysOf(config).filter((key) => !explained.has(key))).toEqual([])
})

/** `a.b`, `list[].c`: the paths of all values that are no objects. */
function keysOf(value: object, prefix = ''): string[] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    const key = `${prefix}${name}`
    if (Array.isArray(inner) && inner.some((entry) => typeof entry === 'object')) {
      return inner.flatMap((entry: object) => keysOf(entry, `${key}[].`))
    }
    if (typeof inner === 'object' && inner !== null && !Array.isArray(inner) && !(inner instanceof Date)) {
      return keysOf(inner, `${key}.`)
    }
    return [key]
  })
}
