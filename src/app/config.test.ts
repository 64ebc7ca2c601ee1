import { expect, test } from 'vitest'
import { maskConfig, parseConfig } from './config.ts'

const RULE = { name: 'on-call', token_sha256: '0'.repeat(64), permissions: ['read'] }
const parse = (database: object) => parseConfig({ database, auth: { rules: [RULE] } }, {}, 'the test')

test('wake-ups are listened for, at the database itself, unless the file says otherwise', () => {
  expect(parse({}).database).toMatchObject({ wake_channel: true })
  expect(parse({ wake_channel: false, listen_url: 'postgres://db/wq' }).database).toMatchObject({
    wake_channel: false,
    listen_url: 'postgres://db/wq',
  })
  expect(() => parse({ listen_url: 'mysql://db/wq' })).toThrow('has a fault')
})

test('the settled configuration shows no password of the database', () => {
  const database = { url: 'postgres://wq:hush@pooler/wq', listen_url: 'postgres://wq:hush@db/wq' }

  expect(JSON.stringify(maskConfig(parse(database)))).not.toContain('hush')
})
