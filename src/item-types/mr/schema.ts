/**
 * What callers may submit: the desired state of one merge request. Shapes and coarse bounds only; what a project allows
 * is the inspection's business. Unknown keys are errors, because a misspelt key would be a wish silently ignored.
 */
import { z } from 'zod'
import { durationSchema } from '../../lib/duration.ts'

/** PostgreSQL refuses NUL in text and a lone surrogate in jsonb; neither has a place in a file path or a title. */
function text(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), {
      error: 'Text must be well-formed Unicode without NUL; send bytes as base64.',
      params: { code: 'invalid_text' },
    })
}

/** GitLab's limit for the name of a label. */
const MAX_NAME = 255
/** GitLab's limit is 255; a title that begins with a slash gets a backslash in front. */
const MAX_TITLE = 254
/** GitLab's limit is 1,048,576; a description of nothing but slashes doubles when it is made harmless. */
const MAX_DESCRIPTION = 500_000
const MAX_COMMIT_MESSAGE = 16_384
/** Characters of one file's content as sent; the configured limits are in bytes and lower. */
const MAX_CONTENT = 64 * 1024 * 1024
const MAX_ACTIONS = 10_000
const MAX_PEOPLE = 50
const MIN_EXPIRY_MS = 60_000

const path = text(1_024)
  .min(1)
  .describe('Canonical, relative to the root of the repository; refused otherwise, never mended')
const content = text(MAX_CONTENT).describe('The whole content of the file afterwards')
const encoding = z.enum(['text', 'base64']).default('text').describe('How `content` is sent; base64 for bytes')
const executable = z.boolean().describe('Whether the file is executable afterwards')

const fileActionSchema = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('create'),
    file_path: path,
    content: content.default(''),
    encoding,
    execute_filemode: executable.optional(),
  }),
  z.strictObject({ action: z.literal('update'), file_path: path, content, encoding }),
  /** Create or update, resolved against the target branch when the service writes. */
  z.strictObject({
    action: z.literal('upsert'),
    file_path: path,
    content,
    encoding,
    execute_filemode: executable.optional(),
  }),
  z.strictObject({ action: z.literal('delete'), file_path: path }),
  /** Without content the file keeps what it holds. */
  z.strictObject({
    action: z.literal('move'),
    file_path: path,
    previous_path: path.describe('Where the file is now'),
    content: content.optional(),
    encoding,
  }),
  z.strictObject({ action: z.literal('chmod'), file_path: path, execute_filemode: executable }),
])

/** GitLab takes a comma for the end of a label and trims what is left. */
const label = text(MAX_NAME)
  .min(1)
  .regex(/^(?!\s)[^,\p{Cc}\p{Zl}\p{Zp}]+(?<!\s)$/u, 'A label has no comma, no line break, and no blank at its ends.')
const userName = z.string().regex(/^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,254}$/)
const userNames = z.array(userName).max(MAX_PEOPLE).default([])

export const mrSubmissionSchema = z
  .strictObject({
    item_type: z.literal('mr'),
    project: text(1_024).min(1).describe('Full path of the project in GitLab: `group/subgroup/name`'),
    source_branch: text(MAX_NAME).min(1).describe('The branch the service writes; with the project it is the identity'),
    target_branch: text(MAX_NAME)
      .min(1)
      .optional()
      .describe("Default: the project's default branch, whatever it is when the service writes"),
    title: text(MAX_TITLE).min(1),
    description: text(MAX_DESCRIPTION).default(''),
    commit_message: text(MAX_COMMIT_MESSAGE).min(1).optional().describe('Default: the title'),
    file_actions: z
      .array(fileActionSchema)
      .min(1)
      .max(MAX_ACTIONS)
      .describe("What to do to the target's files, in one commit; `upsert` creates or updates"),
    labels: z.array(label).max(MAX_PEOPLE).default([]).describe('Added, never removed'),
    assignees: userNames.describe('User names in GitLab'),
    reviewers: userNames.describe('User names in GitLab'),
    auto_merge: z.boolean().default(false).describe("Merge as soon as GitLab and the project's policy allow it"),
    squash: z.boolean().default(false),
    remove_source_branch: z.boolean().default(true).describe('Delete the source branch after the merge'),
    expires_after: durationSchema
      .refine((milliseconds) => milliseconds >= MIN_EXPIRY_MS, 'It must be a minute at least.')
      .optional()
      .describe('How long it may stay open, such as 14d; closed then. Default and limit: what the project allows'),
    force_overwrite: z
      .boolean()
      .default(false)
      .describe("Write over somebody else's commits on the source branch; needs the permission `overwrite`"),
  })
  .transform(({ commit_message, ...submission }) => ({
    ...submission,
    commit_message: commit_message ?? submission.title,
  }))

export type FileAction = z.infer<typeof fileActionSchema>
export type MrSubmission = z.infer<typeof mrSubmissionSchema>

/** For reading file actions back from the database, which only this schema has filled. */
export const fileActionsSchema = z.array(fileActionSchema)
