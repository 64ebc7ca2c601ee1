/** What a project's configuration says about its inspection. Everything it does not say has the strict reading. */
import { z } from 'zod'
import { DEFAULT_BLOCK_LIST } from './block-list.ts'
import { faultOfPattern } from './glob.ts'

const pattern = z.string().check((context) => {
  const fault = faultOfPattern(context.value)
  if (fault === null) return
  context.issues.push({ code: 'custom', input: context.value, message: `the pattern ${fault}` })
})

/** Paths that may be changed, but merged only once a named person has agreed. The block list holds on top. */
const reviewSchema = z
  .strictObject({
    paths: z.array(pattern).min(1),
    /** Full path of a group in GitLab: any of its members, direct or inherited. */
    group: z.string().min(1).optional(),
    /** User names in GitLab. */
    users: z.array(z.string().min(1)).min(1).optional(),
  })
  .refine(({ group, users }) => group !== undefined || users !== undefined, {
    error: 'expected group or users: whose approval it takes',
  })

/** Keys of a project in the configuration. */
export const inspectionKeys = {
  /** Patterns of branches that the service may write. Never the target, the default or a protected branch. */
  source_branches: z.array(pattern).min(1).prefault(['**']),
  /** When given, only these paths may be changed; the block list holds on top. */
  allow_paths: z.array(pattern).min(1).optional(),
  block_paths: z.array(pattern).prefault([]),
  /** Lifts entries of the default block list, spelt exactly as there. */
  unblock_paths: z
    .array(z.enum(DEFAULT_BLOCK_LIST, { error: 'expected an entry of the default block list, spelt exactly as there' }))
    .prefault([]),
  any_characters_in_paths: z.boolean().prefault(false),
  /** Patterns of paths whose files may be binary; elsewhere a file that holds NUL or is not UTF-8 is refused. */
  binary_paths: z.array(pattern).prefault([]),
  /** Pointers of Git LFS, whose content lies elsewhere and is never seen here. */
  lfs_pointers: z.boolean().prefault(false),
  /** Patterns of paths whose files may hold characters that cannot be seen or change the order of reading. */
  hidden_characters_in: z.array(pattern).prefault([]),
  /** Patterns of labels that submissions may set. Left out: every one without `::`. */
  allow_labels: z.array(pattern).optional(),
  review: reviewSchema.optional(),
}

export const limitsSchema = z.strictObject({
  max_actions: z.int().min(1).max(10_000).prefault(200),
  max_file_bytes: z.int().min(1).prefault(1_048_576),
  max_total_bytes: z.int().min(1).prefault(5_242_880),
})
