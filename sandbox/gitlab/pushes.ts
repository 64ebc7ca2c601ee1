/**
 * What follows a push to a branch, whoever made it: the commits API, a merge, a rebase, `git push`. The writer moves the
 * reference first and then calls `recordPush`, once for each branch; pipelines and webhooks hear of it at once, merge
 * requests are refreshed a moment later by a background task, as in GitLab.
 */
import type { SandboxContext } from './context.ts'
import { refreshMergeRequests } from './merge-requests/refresh.ts'
import type { Push } from './state.ts'

export const REFRESH_DELAY_MS = 50

export function recordPush(context: SandboxContext, push: Push): void {
  push.project.emptyRepo = false
  context.save()
  context.signals.emit('push', push)
  context.later(context.refreshDelayMs, 'refresh merge requests', () =>
    context.exclusive(push.project, () => refreshMergeRequests(context, push)),
  )
}
