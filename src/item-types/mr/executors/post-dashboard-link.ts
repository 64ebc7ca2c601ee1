/**
 * Keeps the service's one note on the merge request true: who is looking after it, for whom, and what it waits for. The
 * same words as in the API and the CLI (blockers.ts). Edited in place, so that nobody is notified of each change.
 */
import type { ExecutorResult } from '../../../queue/item-type.ts'
import { findBlockers } from '../blockers.ts'
import { NEEDS_DASHBOARD_LINK, NEEDS_MR } from '../dimensions.ts'
import { type Action, createExecutor, type MrServices, SUCCEEDED } from './context.ts'
import { putStatusNote } from './notes.ts'

export function createPostDashboardLink(services: MrServices) {
  return createExecutor(services, postDashboardLink)
}

async function postDashboardLink(action: Action): Promise<ExecutorResult> {
  const { services, draft } = action
  const { detail } = draft
  const wanted = services.inspector.policyOf(detail.project)?.note ?? false
  if (wanted && detail.projectId !== null && detail.mrIid !== null) {
    await putStatusNote(action, detail.projectId, detail.mrIid, statusText(action))
  }
  draft.settle(NEEDS_DASHBOARD_LINK)
  return SUCCEEDED
}

function statusText({ services, draft, context }: Action): string {
  const { item, detail, dimensions } = draft
  const url = services.config.public_url
  const blockers = findBlockers({ item, detail, dimensions, now: context.now })
  const lines = blockers.flatMap(({ code, message, since, clearedBy, links = [] }) => {
    const from = since === null ? '' : `, since ${since.toISOString().slice(0, 16).replace('T', ' ')} UTC`
    return [
      `- ${literal(message)} (\`${code}\`${from}); it can be cleared by ${clearedBy}`,
      ...links.map(({ name, url }) => `  - ${literal(name)}: <${url}>`),
    ]
  })
  const name = url === undefined ? `work item \`${item.id}\`` : `[work item \`${item.id}\`](${url}/items/${item.id})`
  return [
    `This merge request is looked after by workqueue-service (${name}), on behalf of \`${item.callerIdentity}\`.`,
    '',
    lines.length === 0 ? 'It waits for nothing.' : 'It waits for:',
    ...(lines.length === 0 ? [] : ['', ...lines]),
    ...remarksOf(draft).flatMap((remark) => ['', remark]),
  ].join('\n')
}

/** Jobs and labels are named by others: what Markdown would make of their names is not what is meant. */
function literal(text: string): string {
  return text.replace(/[\\`*[\]<>]/g, '\\$&')
}

/** What a reviewer should know of how the branch was written. */
function remarksOf({ detail, dimensions }: Action['draft']): readonly string[] {
  const note = dimensions.find(({ dimension }) => dimension === NEEDS_MR)?.note ?? null
  const remarks = note === null ? [] : [`About the branch: ${note}.`]
  if (detail.overwrittenSha !== null) {
    const sha = detail.overwrittenSha
    remarks.push(`Commits of somebody else were written over, as the submission asked; their head was \`${sha}\`.`)
  }
  return remarks
}
