/**
 * The slice of the configuration that belongs to merge requests: which projects the service may change, what in them, what
 * it takes to merge, and how patient it is. Everything a project does not say has the strict reading.
 */
import { z } from 'zod'
import { durationSchema } from '../../lib/duration.ts'
import { freezeSchema } from './freeze.ts'
import { herderSchema, projectHerderSchema } from './herder/config.ts'
import { inspectionKeys, limitsSchema } from './inspection/config.ts'

const branchName = z.string().min(1)

/** What a pipeline that is not plainly green is worth as proof. `wait`: nothing. */
const pipelineSchema = z.strictObject({
  /** No pipeline of the commit. `merge`: it is merged without one, after some looks. */
  none: z.enum(['wait', 'merge']).prefault('wait'),
  /** All of its jobs were skipped. */
  skipped: z.enum(['wait', 'merge']).prefault('wait'),
  /** It stands at a job that a person must start. */
  manual: z.enum(['wait', 'merge']).prefault('wait'),
  /** A pipeline that consists of what other systems report. `accept`: as good as GitLab's own. */
  external: z.enum(['ignore', 'accept']).prefault('ignore'),
  /** Pipelines that the head pipeline has started. `require`: each that may not fail has to be green as well. */
  children: z.enum(['require', 'ignore']).prefault('require'),
  /** A pipeline of the merge with the target, made by GitLab in advance. */
  merged_results: z.enum(['accept', 'ignore']).prefault('accept'),
})

/** Built elsewhere after the merge; the item stays until its build has ended. */
const componentSchema = z.strictObject({
  /** As Konflux calls it. */
  name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, {
    error: 'expected the name of a component in Konflux, such as widgets-main',
  }),
  /** How long after the merge its build is waited for. */
  timeout: durationSchema.prefault('2h'),
  /** What becomes of the item, which is merged in any case, when the build has failed, and when nobody has told in time. */
  on_failure: z.enum(['fail', 'complete']).prefault('fail'),
  on_timeout: z.enum(['fail', 'complete']).prefault('fail'),
})

const projectSchema = z.strictObject({
  path: z
    .string()
    .max(1_024)
    .regex(/^[A-Za-z0-9_.][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$/, {
      error: 'expected the full path of a project, such as group/subgroup/name',
    }),
  /** Exact names of branches that changes may go to. Left out: only the project's default branch. */
  target_branches: z.array(branchName).min(1).optional(),
  ...inspectionKeys,
  pipeline: pipelineSchema.prefault({}),
  /** Whoever may label merge requests can stop the service from merging one with any of these. Case is ignored. */
  hold_labels: z.array(z.string().min(1).max(255)).prefault(['do-not-merge']),
  /** When nothing is merged. */
  freeze: z.array(freezeSchema).prefault([]),
  /** A merge request that is still open after this time is closed. Also the limit for what a submission asks for. */
  expires_after: durationSchema.optional(),
  /** One note on each merge request, kept up to date: what it waits for. */
  note: z.boolean().prefault(true),
  /** Which failed jobs are run again, before what mr.herder says for all. */
  herder: projectHerderSchema.prefault({}),
  /** What is built of it after the merge. */
  components: z
    .array(componentSchema)
    .max(50)
    .prefault([])
    .refine((components) => new Set(components.map(({ name }) => name)).size === components.length, {
      error: 'a component is listed twice',
    }),
})

export const mrConfigSchema = z.strictObject({
  projects: z
    .array(projectSchema)
    .prefault([])
    .refine((projects) => new Set(projects.map(({ path }) => path.toLowerCase())).size === projects.length, {
      error: 'a project is listed twice (case is ignored)',
    }),
  limits: limitsSchema.prefault({}),
  /** How often an open merge request is looked at when no event says so: the net under lost events. */
  reconcile_interval: durationSchema.prefault('5m'),
  /** The same while a pipeline is expected to end. */
  pipeline_poll: durationSchema.prefault('30s'),
  /** How often it is asked whether merging would still change anything. */
  empty_check_interval: durationSchema.prefault('30m'),
  /** Which failed jobs are run again. */
  herder: herderSchema.prefault({}),
  /** Where people see the service's pages, for links in notes. */
  public_url: z
    .string()
    .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
      error: 'expected an address such as https://workqueue.example.com',
    })
    .transform((text) => text.replace(/\/+$/, ''))
    .optional(),
  /** Where people see a run of a build: `{namespace}` and `{name}` are those of its PipelineRun. */
  pipeline_run_url: z
    .string()
    .refine((text) => /^https?:\/\/\S+$/.test(text) && text.includes('{name}'), {
      error:
        'expected an address with {name} in it, such as https://konflux.example.com/ns/{namespace}/pipelinerun/{name}',
    })
    .optional(),
})

export type MrConfig = z.infer<typeof mrConfigSchema>
export type MrProjectConfig = MrConfig['projects'][number]
