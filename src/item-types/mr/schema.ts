/**
 * What callers may submit: the desired state of one merge request. Shapes and coarse bounds only; what a project allows
 * is the inspection's business. Unknown keys are errors, because a misspelt key would be a wish silently ignored.
 */
import { z } from 'zod'

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

const path = text(1_024).min(1)
const content = text(MAX_CONTENT)
const encoding = z.enum(['text', 'base64']).default('text')

const fileActionSchema = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('create'),
    file_path: path,
    content: content.default(''),
    encoding,
    execute_filemode: z.boolean().optional(),
  }),
  z.strictObject({ action: z.literal('update'), file_path: path, content, encoding }),
  /** Create or update, resolved against the target branch when the service writes. */
  z.strictObject({
    action: z.literal('upsert'),
    file_path: path,
    content,
    encoding,
    execute_filemode: z.boolean().optional(),
  }),
  z.strictObject({ action: z.literal('delete'), file_path: path }),
  /** Without content the file keeps what it holds. */
  z.strictObject({
    action: z.literal('move'),
    file_path: path,
    previous_path: path,
    content: content.optional(),
    encoding,
  }),
  z.strictObject({ action: z.literal('chmod'), file_path: path, execute_filemode: z.boolean() }),
])

const userName = z.string().regex(/^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,254}$/)

export const mrSubmissionSchema = z
  .strictObject({
    item_type: z.literal('mr'),
    /** Full path of the project: `group/subgroup/name`. */
    project: text(1_024).min(1),
    source_branch: text(MAX_NAME).min(1),
    /** Default: the project's default branch, whatever it is when the service writes. */
    target_branch: text(MAX_NAME).min(1).optional(),
    title: text(MAX_TITLE).min(1),
    description: text(MAX_DESCRIPTION).default(''),
    /** Default: the title. */
    commit_message: text(MAX_COMMIT_MESSAGE).min(1).optional(),
    file_actions: z.array(fileActionSchema).min(1).max(MAX_ACTIONS),
    labels: z.array(text(MAX_NAME).min(1)).max(MAX_PEOPLE).default([]),
    /** User names in GitLab. */
    assignees: z.array(userName).max(MAX_PEOPLE).default([]),
    reviewers: z.array(userName).max(MAX_PEOPLE).default([]),
    /** Merge as soon as GitLab and the project's policy allow it. */
    auto_merge: z.boolean().default(false),
    squash: z.boolean().default(false),
    remove_source_branch: z.boolean().default(true),
  })
  .transform(({ commit_message, ...submission }) => ({
    ...submission,
    commit_message: commit_message ?? submission.title,
  }))

export type FileAction = z.infer<typeof fileActionSchema>
export type MrSubmission = z.infer<typeof mrSubmissionSchema>

/** For reading file actions back from the database, which only this schema has filled. */
export const fileActionsSchema = z.array(fileActionSchema)
