/** What the executors of merge requests share: their dependencies, and how one ends an action from deep inside. */
import type { Database } from '../../../db/database.ts'
import type { GitLab } from '../../../gitlab/port.ts'
import { WorkQueueError } from '../../../lib/errors.ts'
import type { Draft } from '../../../queue/draft.ts'
import type { Executor, ExecutorContext, ExecutorResult } from '../../../queue/item-type.ts'
import type { MrConfig, MrProjectConfig } from '../config.ts'
import type { MrDetail } from '../detail.ts'
import type { TextPolicy } from '../inspection/active-text.ts'
import type { Inspector } from '../inspection/inspector.ts'
import type { MrSubmission } from '../schema.ts'

export interface MrServices {
  readonly db: Database
  readonly gitlab: GitLab
  readonly config: MrConfig
  readonly inspector: Inspector<MrProjectConfig>
  /** The whole submission as it stands now, files included. */
  readonly readContent: (workItemId: string) => Promise<MrSubmission>
}

/** What one run of an executor works with. */
export interface Action {
  readonly services: MrServices
  readonly draft: Draft<MrDetail>
  readonly context: ExecutorContext
}

export const SUCCEEDED: ExecutorResult = { outcome: 'succeeded' }

/** Trying again would meet the same refusal: the item ends. */
class Refusal extends WorkQueueError {}

export function refuse(code: string, message: string): never {
  throw new Refusal(code, message)
}

/** An executor whose refusals end the item; every other error goes on to the queue, which classes it. */
export function createExecutor(
  services: MrServices,
  run: (action: Action) => Promise<ExecutorResult>,
): Executor<MrDetail> {
  return async (draft, context) => {
    try {
      return await run({ services, draft, context })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { outcome: 'failed_for_good', code: error.code, message: error.message }
    }
  }
}

/** How the project wants text made harmless; undefined: in every way. */
export function textPolicyOf({ services, draft }: Action): TextPolicy | undefined {
  return services.inspector.policyOf(draft.detail.project)?.text
}

const FIRST_LOOK_MS = 1_000

/** When to look again at something that settles by itself: 1 s, 2 s, 4 s, … up to `maxMs`. */
export function growingMs(looks: number, maxMs: number): number {
  return Math.min(FIRST_LOOK_MS * 2 ** Math.min(looks, 30), maxMs)
}

/** The configuration may have changed since the submission was accepted; what it no longer allows ends here. */
export async function refuseUnlessAllowed({ inspector }: MrServices, content: MrSubmission): Promise<void> {
  const [first, ...more] = await inspector.inspect(content)
  if (first !== undefined) refuse(first.code, [first, ...more].map(({ message }) => message).join(' '))
}
