/**
 * Reads a submission from a file or from standard input. A text that starts with `{` is JSON, anything else YAML. Faults
 * are told with their place and without quoting the text.
 */
import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { buffer as readAll } from 'node:stream/consumers'
import { parseDocument } from 'yaml'
import { messageOf, WorkQueueError } from '../lib/errors.ts'
import { locateJsonFault } from '../lib/json-fault.ts'

/** `-` = standard input. @throws WorkQueueError `input_unreadable`, `input_malformed`. */
export async function readSubmission(file: string): Promise<unknown> {
  const name = file === '-' ? 'standard input' : file
  const bytes = await (file === '-' ? readAll(process.stdin) : readFile(file)).catch((error: unknown) => {
    throw new WorkQueueError('input_unreadable', `${name} cannot be read: ${messageOf(error)}.`, { cause: error })
  })
  // A decoder would put other characters in place of what it cannot read, and the change would be made with those.
  if (!isUtf8(bytes))
    throw malformed(`${name} is not UTF-8; save it as UTF-8, and send the content of binary files as base64.`)
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  if (text.trim() === '') throw malformed(`${name} is empty.`)
  const value = text.trimStart().startsWith('{') ? parseJson(text, name) : parseYaml(text, name)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed(`${name} must hold one submission: fields and values, item_type among them.`)
  }
  try {
    JSON.stringify(value)
  } catch {
    throw malformed(`${name} holds something that JSON cannot: it is nested without end, or far too deeply.`)
  }
  return value
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const { line, column, expected } = locateJsonFault(text)
    throw malformed(`${name} is not valid JSON: line ${line}, column ${column}: expected ${expected}.`)
  }
}

function parseYaml(text: string, name: string): unknown {
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: true })
  const [fault] = document.errors
  if (fault !== undefined) {
    const before = text.slice(0, fault.pos[0])
    const place = `line ${before.split('\n').length}, column ${fault.pos[0] - before.lastIndexOf('\n')}`
    throw malformed(`${name} is not valid YAML: ${place}: ${fault.message}.`)
  }
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw malformed(`${name} is not valid YAML: ${messageOf(error)}.`)
  }
}

function malformed(message: string): WorkQueueError {
  return new WorkQueueError('input_malformed', message)
}
