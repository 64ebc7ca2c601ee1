/**
 * The slice of the configuration that belongs to merge requests: which projects the service may change, what in them, and
 * how patient it is. Everything a project does not say has the strict reading.
 */
import { z } from 'zod'
import { durationSchema } from '../../lib/duration.ts'
import { DEFAULT_BLOCK_LIST } from './inspection/block-list.ts'
import { faultOfPattern } from './inspection/glob.ts'

const pattern = z.string().check((context) => {
  const fault = faultOfPattern(context.value)
  if (fault === null) return
  context.issues.push({ code: 'custom', input: context.value, message: `the pattern ${fault}` })
})

const projectSchema = z.strictObject({
  path: z
    .string()
    .max(1_024)
    .regex(/^[A-Za-z0-9_.][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$/, {
      error: 'expected the full path of a project, such as group/subgroup/name',
    }),
  /** Exact names of branches that changes may go to. Left out: only the project's default branch. */
  target_branches: z.array(z.string().min(1)).min(1).optional(),
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
  /** Merge only with a green pipeline of exactly our commit. `false` lets a commit without any pipeline be merged. */
  require_pipeline: z.boolean().prefault(true),
})

export const mrConfigSchema = z.strictObject({
  projects: z
    .array(projectSchema)
    .prefault([])
    .refine((projects) => new Set(projects.map(({ path }) => path.toLowerCase())).size === projects.length, {
      error: 'a project is listed twice (case is ignored)',
    }),
  limits: z
    .strictObject({
      max_actions: z.int().min(1).max(10_000).prefault(200),
      max_file_bytes: z.int().min(1).prefault(1_048_576),
      max_total_bytes: z.int().min(1).prefault(5_242_880),
    })
    .prefault({}),
  /** How often an open merge request is looked at when no event says so: the net under lost events. */
  reconcile_interval: durationSchema.prefault('5m'),
  /** The same while a pipeline is expected to end. */
  pipeline_poll: durationSchema.prefault('30s'),
})

export type MrConfig = z.infer<typeof mrConfigSchema>
export type MrProjectConfig = MrConfig['projects'][number]
