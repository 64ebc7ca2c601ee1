/**
 * What a project's configuration says about its inspection; the rules read their policy from these types and no others.
 * Everything a project does not say has the strict reading.
 */
import { RE2JS } from 're2js'
import { z } from 'zod'
import { durationSchema } from '../../../lib/duration.ts'
import { messageOf } from '../../../lib/errors.ts'
import { faultOfPattern } from '../../../lib/glob.ts'
import { textPolicySchema } from './active-text.ts'
import { BINARY_FORMAT_NAMES } from './binary-formats.ts'
import { DEFAULT_BLOCK_LIST } from './block-list.ts'
import { faultOfBranchName } from './branch-name.ts'
import { faultOfSpelling } from './path-spelling.ts'
import { SECRET_RULE_IDS } from './secret-rules.ts'

const pathPattern = patternOf((example) => {
  const fault = faultOfSpelling(example)
  return fault?.code === 'path_not_canonical' ? fault.why : null
})
const branchPattern = patternOf(faultOfBranchName)
const labelPattern = patternOf(() => null)

function patternOf(faultOfExample: (example: string) => string | null) {
  return z.string().check((context) => {
    const fault = faultOfPattern(context.value, faultOfExample)
    if (fault === null) return
    context.issues.push({ code: 'custom', input: context.value, message: `the pattern ${fault}` })
  })
}

/** Paths that may be changed, but merged only once a named person has agreed. The block list holds on top. */
const reviewSchema = z
  .strictObject({
    paths: z.array(pathPattern).min(1),
    /** Full path of a group in GitLab: any of its members, direct or inherited. */
    group: z.string().min(1).optional(),
    /** User names in GitLab. */
    users: z.array(z.string().min(1)).min(1).optional(),
  })
  .refine(({ group, users }) => group !== undefined || users !== undefined, {
    error: 'expected group or users: whose approval it takes',
  })

const binaryFileSchema = z
  .strictObject({
    /** Its extension and its first bytes must both fit; `any` asks for neither. */
    format: z.enum([...BINARY_FORMAT_NAMES, 'any']),
    /** Left out: everywhere. */
    paths: z.array(pathPattern).min(1).optional(),
    /** Left out: as large as a file may be. */
    max_bytes: z.int().min(1).optional(),
  })
  .refine(({ format, paths }) => format !== 'any' || paths !== undefined, {
    error: 'expected paths: where a file may hold any bytes',
    path: ['paths'],
  })

/** RE2: linear in its input, without look-around and back-references. */
export const linearPattern = z
  .string()
  .min(1)
  .max(1_000)
  .check((context) => {
    const fault = faultOfRegex(context.value)
    if (fault !== null) context.issues.push({ code: 'custom', input: context.value, message: fault })
  })

function faultOfRegex(pattern: string): string | null {
  try {
    return RE2JS.compile(pattern).matcher('').find() ? 'the pattern matches the empty text, and so everything' : null
  } catch (error) {
    return `the pattern is no regular expression of RE2: ${messageOf(error)}`
  }
}

const contentRuleSchema = z.strictObject({
  code: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, { error: 'expected a name such as no_internal_hosts' }),
  pattern: linearPattern,
  /** Left out: every file. */
  paths: z.array(pathPattern).min(1).optional(),
  /** What the caller reads: what is wrong and what to do. */
  message: z.string().trim().min(1).max(500),
})

const allowedSecretSchema = z.strictObject({
  rule: z.enum(SECRET_RULE_IDS, { error: 'expected the id of a rule from docs/inspection.md' }),
  paths: z.array(pathPattern).min(1),
})

const dotDirectory = z
  .string()
  .regex(/^\.[A-Za-z0-9._-]{0,100}[A-Za-z0-9_-]$/, { error: 'expected a name such as .config' })
  .refine((name) => faultOfSpelling(name) === null, { error: 'no path can lie in this directory' })
  .refine((name) => !DEFAULT_BLOCK_LIST.some((pattern) => pattern === `${name}/**`), {
    error: 'is on the default block list; unblock_paths lifts it',
  })

/** Keys of a project in the configuration. */
export const inspectionKeys = {
  /** Patterns of branches that the service may write. Never the target, the default or a protected branch. */
  source_branches: z.array(branchPattern).min(1).prefault(['**']),
  /** When given, only these paths may be changed; the block list holds on top. */
  allow_paths: z.array(pathPattern).min(1).optional(),
  block_paths: z.array(pathPattern).prefault([]),
  /** Lifts entries of the default block list, spelt exactly as there. */
  unblock_paths: z
    .array(z.enum(DEFAULT_BLOCK_LIST, { error: 'expected an entry of the default block list, spelt exactly as there' }))
    .prefault([]),
  /** Exact names of directories at the top whose name begins with a dot and that may be changed; the block list holds on top. */
  dot_directories: z.array(dotDirectory).prefault([]),
  any_characters_in_paths: z.boolean().prefault(false),
  /** What may be binary; any other file that holds NUL or is not UTF-8 is refused. */
  binary_files: z.array(binaryFileSchema).prefault([]),
  /** Pointers of Git LFS, whose content lies elsewhere and is never seen here. */
  lfs_pointers: z.boolean().prefault(false),
  /** Patterns of paths whose files may hold characters that cannot be seen or change the order of reading. */
  hidden_characters_in: z.array(pathPattern).prefault([]),
  /** Where what a rule takes for a secret is none. */
  allow_secrets: z.array(allowedSecretSchema).prefault([]),
  /** Patterns of the project's own that no line may match. */
  content_rules: z.array(contentRuleSchema).max(100).prefault([]),
  /** What becomes of mentions, closing words, and comments and images in title, description and commit message. */
  text: textPolicySchema.prefault({}),
  /** Patterns of labels that submissions may set. Left out: every one without `::`. */
  allow_labels: z.array(labelPattern).optional(),
  review: reviewSchema.optional(),
}

export const limitsSchema = z.strictObject({
  max_actions: z.int().min(1).max(10_000).prefault(200),
  max_file_bytes: z.int().min(1).prefault(1_048_576),
  max_total_bytes: z.int().min(1).prefault(5_242_880),
  /** How long a thread may look at the content of one submission. What takes longer is refused. */
  inspection_budget: durationSchema.prefault('5s'),
})

export type Limits = z.infer<typeof limitsSchema>

type InspectionKeys = z.infer<z.ZodObject<typeof inspectionKeys>>

export interface ProjectPolicy extends InspectionKeys {
  /** Full path, in the spelling that identities use. */
  readonly path: string
  /** Exact names; absent: the project's default branch only, which is checked when the service writes. */
  readonly target_branches?: readonly string[] | undefined
}

export interface InspectionPolicy {
  readonly projects: readonly ProjectPolicy[]
  readonly limits: Limits
}
