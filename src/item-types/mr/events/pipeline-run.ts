/**
 * What a PipelineRun of Konflux says, as far as it matters after a merge: which component was built of which commit, and how
 * that ended. The same run is told many times, in any order; only its end is of interest. `status` decides, `reason` and
 * `message` are words for people. Nothing in it is trusted but that: in particular no address is taken from it.
 */
import { z } from 'zod'

export interface BuildResult {
  readonly component: string
  readonly sha: string
  readonly succeeded: boolean
  /** Name and namespace of the run, as Kubernetes allows them. */
  readonly run: string
  readonly namespace: string
  /** In the words of Tekton, in one line. */
  readonly message: string
}

const MAX_MESSAGE = 200

const name = z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/)
const texts = z.record(z.string(), z.string()).nullish()

const runSchema = z.looseObject({
  metadata: z.looseObject({ name, namespace: name, labels: texts, annotations: texts }),
  status: z.looseObject({
    conditions: z.array(
      z.looseObject({
        type: z.string(),
        status: z.enum(['True', 'False', 'Unknown']),
        reason: z.string().nullish(),
        message: z.string().nullish(),
      }),
    ),
  }),
})

const COMPONENT = ['appstudio.openshift.io/component', 'build.konflux-ci.dev/component']
const SHA = [
  'pipelinesascode.tekton.dev/sha',
  'build.appstudio.redhat.com/commit_sha',
  'build.konflux-ci.dev/commit_sha',
]
const TYPE = ['pipelines.appstudio.openshift.io/type', 'pipelines.konflux-ci.dev/type']
/** Set on the runs of integration tests. */
const SCENARIO = ['test.appstudio.openshift.io/scenario']

/** null: it is no build of a component, or it has not ended. */
export function readBuildResult(body: unknown): BuildResult | null {
  const reading = runSchema.safeParse(body)
  if (!reading.success) return null
  const { metadata, status } = reading.data
  const { labels, annotations } = metadata
  // A label's value is cut to what Kubernetes allows; the annotation of the same key has all of it.
  const textOf = (keys: readonly string[]) =>
    [annotations, labels].flatMap((all) => keys.map((key) => all?.[key])).find((value) => value !== undefined)
  const component = textOf(COMPONENT)
  const sha = textOf(SHA)
  const condition = status.conditions.find(({ type }) => type === 'Succeeded')
  if (component === undefined || sha === undefined || !/^[0-9a-f]{40,64}$/.test(sha)) return null
  if ((textOf(TYPE) ?? 'build') !== 'build' || textOf(SCENARIO) !== undefined) return null
  if (condition === undefined || condition.status === 'Unknown') return null
  return {
    component,
    sha,
    succeeded: condition.status === 'True',
    run: metadata.name,
    namespace: metadata.namespace,
    message: inOneLine([condition.reason, condition.message].filter((text) => text).join(': ')),
  }
}

function inOneLine(text: string): string {
  const line = text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE).toWellFormed()}…` : line
}
