/**
 * A fault rule as data: which requests it concerns, how often, and what goes wrong with them. Rules come from operators
 * and tests alike, so reading one names every field that does not fit. What a rule does is in install.ts.
 */
import { randomInt } from 'node:crypto'
import { z } from 'zod'
import { refusal } from '../errors.ts'

const MAX_SEED = 2 ** 32
const MAX_DELAY_MS = 600_000
/** Set by the server from the body; another value would break the answer itself. */
const OWN_HEADERS = ['connection', 'content-length', 'transfer-encoding']

const which = {
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).optional(),
  /** The whole path as the client sends it, without the query; `*` is one segment or a part of it, `**` anything. */
  path: z.string().startsWith('/').max(500),
  probability: z.number().min(0).max(1).default(1),
  /** Which requests are hit follows from the seed alone; made up and shown when left out. */
  seed: z
    .int()
    .min(0)
    .max(MAX_SEED)
    .default(() => randomInt(MAX_SEED)),
  /** How often at most. */
  times: z.int().min(1).optional(),
}

const headerName = z
  .string()
  .regex(/^[a-z0-9-]+$/i, 'no name of a header')
  .refine((name) => !OWN_HEADERS.includes(name.toLowerCase()), 'a header that the server sets itself')
const headerValue = z.string().regex(/^[ -~]*$/, 'no value of a header')

const faultRule = z.discriminatedUnion('kind', [
  z.strictObject({
    ...which,
    kind: z.literal('status'),
    status: z.int().min(300).max(599),
    headers: z.record(headerName, headerValue).default({}),
    /** Text goes out as text, anything else as JSON; left out, the body is GitLab's own for this status. */
    body: z.json().optional(),
  }),
  z.strictObject({ ...which, kind: z.literal('delay'), ms: z.int().min(0).max(MAX_DELAY_MS) }),
  z.strictObject({ ...which, kind: z.literal('drop_before') }),
  z.strictObject({ ...which, kind: z.literal('drop_after') }),
  z.strictObject({ ...which, kind: z.literal('stale_read') }),
])

/** What callers write; probability, seed and headers may be left out. */
export type FaultRuleInput = z.input<typeof faultRule>
export type FaultRule = z.output<typeof faultRule>
export type StatusRule = Extract<FaultRule, { kind: 'status' }>

/** Throws the API's 400 with the complaints by field. */
export function readFaultRule(input: unknown): FaultRule {
  const result = faultRule.safeParse(input)
  if (result.success) return result.data
  const complaints = result.error.issues.flatMap((issue): [field: string, text: string][] =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => [key, 'is not known for this kind'])
      : [[issue.path.join('.') || 'rule', issue.message]],
  )
  const byField = Map.groupBy(complaints, ([field]) => field)
  throw refusal(400, Object.fromEntries([...byField].map(([field, all]) => [field, all.map(([, text]) => text)])))
}

/** Percent-encoding is compared in capitals, as `%2f` and `%2F` are the same character. */
function withCapitals(path: string): string {
  return path.replace(/%[0-9a-f]{2}/gi, (code) => code.toUpperCase())
}

/** Whether a rule concerns a request. */
export function matcherOf({ method, path }: FaultRule): (requestMethod: string, requestPath: string) => boolean {
  const source = withCapitals(path)
    .split(/(\*+)/)
    .map((part) => (part === '*' ? '[^/]*' : part.startsWith('**') ? '.*' : part.replace(/[.\\+?^${}()|[\]]/g, '\\$&')))
    .join('')
  const pattern = new RegExp(`^${source}$`)
  return (requestMethod, requestPath) =>
    (method === undefined || method === requestMethod) && pattern.test(withCapitals(requestPath))
}
