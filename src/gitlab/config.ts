/** GitLab's slice of the configuration: where it is, and with whose rights the service writes there. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { durationSchema } from '../lib/duration.ts'
import { messageOf, WorkQueueError } from '../lib/errors.ts'

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]']

const urlSchema = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : null
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return refuse('expected the address of GitLab, such as https://gitlab.example.com')
  }
  if (url.username !== '' || url.password !== '') return refuse('expected an address without user and password')
  if (url.search !== '' || url.hash !== '') return refuse('expected an address without ? and #')
  if (url.protocol === 'http:' && !LOOPBACK_HOSTS.includes(url.hostname)) {
    return refuse('expected https: the token would cross the network in the clear (http is for this machine only)')
  }
  return url.href.replace(/\/+$/, '')
})

/** Printable and without blanks, so that it is a header's value; two lines of a file are two tokens. */
const TOKEN = /^[!-~]+$/

/** When GitLab is left alone because it fails, and for how long (decision 0060). */
export const breakerSchema = z.strictObject({
  /** Failures in a row (no answer, or 5xx), of any calls. */
  failures: z.int().min(1).max(1000).default(10),
  /** How long at first; doubles with each try that fails. */
  open_for: durationSchema.prefault('15s'),
  max_open_for: durationSchema.prefault('2m'),
})

export const gitlabConfigSchema = z
  .strictObject({
    url: urlSchema,
    /** An access token with scope `api` and role Developer. */
    token: z.string().regex(TOKEN, 'expected one access token, without blanks').optional(),
    /** A file that holds the token; read again for every call, so that the token may rotate. */
    token_file: z.string().min(1).optional(),
    /** How long one call may take. */
    timeout: durationSchema.prefault('30s'),
    breaker: breakerSchema.prefault({}),
  })
  .refine(({ token, token_file }) => (token === undefined) !== (token_file === undefined), {
    message: 'expected exactly one of token and token_file',
    path: ['token'],
  })

export type BreakerSettings = z.infer<typeof breakerSchema>
export type GitLabConfig = z.infer<typeof gitlabConfigSchema>

/** Where the token comes from. @throws WorkQueueError `gitlab_token_unreadable`, transient: the file may be on its way. */
export function gitlabToken({ token, token_file }: Pick<GitLabConfig, 'token' | 'token_file'>): () => Promise<string> {
  return async () => {
    if (token_file === undefined) return token ?? ''
    const text = await readFile(token_file, 'utf8').catch((error: unknown) => {
      throw unreadable(`cannot be read: ${messageOf(error)}`)
    })
    const read = text.trim()
    if (!TOKEN.test(read)) throw unreadable('must hold one access token and nothing else')
    return read
  }
}

function unreadable(reason: string): WorkQueueError {
  return new WorkQueueError('gitlab_token_unreadable', `The token file of GitLab ${reason}.`, { failure: 'transient' })
}
