/**
 * Quick actions: lines of a description or note that begin with `/` and name a command are taken out of the text and
 * executed with the writer's rights. Known here: close, reopen, draft (toggles), ready, title, label, unlabel. Lines inside
 * code fences are text. Unknown commands stay text.
 */
import type { SandboxContext } from '../context.ts'
import type { MergeRequest, Project, User } from '../state.ts'
import { closeMergeRequest, reopenMergeRequest, touch } from './changes.ts'
import { isDraft } from './status.ts'

const COMMAND = /^\/(close|reopen|draft|ready|title|label|unlabel)(?:[ \t]+(.*?))?[ \t]*$/i

export interface QuickAction {
  readonly name: string
  readonly argument: string
}

export function extractQuickActions(text: string): { text: string; actions: QuickAction[] } {
  const actions: QuickAction[] = []
  let fence: string | null = null
  const kept = text.split('\n').filter((line) => {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark) {
      if (fence === null) fence = mark
      else if (mark.startsWith(fence)) fence = null
      return true
    }
    const command = fence === null ? COMMAND.exec(line.replace(/\r$/, '')) : null
    if (!command?.[1]) return true
    actions.push({ name: command[1].toLowerCase(), argument: command[2] ?? '' })
    return false
  })
  return actions.length === 0 ? { text, actions } : { text: kept.join('\n').trim(), actions }
}

function labelNames(argument: string): string[] {
  return [...argument.matchAll(/~"([^"]+)"|~(\S+)/g)].map((match) => match[1] ?? match[2] ?? '')
}

function setTitle(context: SandboxContext, mergeRequest: MergeRequest, user: User, title: string): void {
  const previous = mergeRequest.title
  if (title === '' || title === previous) return
  mergeRequest.title = title
  touch(context, mergeRequest)
  const changes = { title: { previous, current: title } }
  context.signals.emit('merge_request', { mergeRequest, action: 'update', userId: user.id, changes })
}

const DRAFT_PREFIX = /^\s*(?:draft:|\[draft\]|\(draft\))\s*/i

/** Executes the commands; answers what GitLab reports of it: the changed keys, and a sentence for each. */
export function applyQuickActions(
  context: SandboxContext,
  project: Project,
  mergeRequest: MergeRequest,
  user: User,
  actions: readonly QuickAction[],
): { changes: Record<string, unknown>; summary: string[] } {
  const changes: Record<string, unknown> = {}
  const summary: string[] = []
  for (const { name, argument } of actions) {
    const plain = mergeRequest.title.replace(DRAFT_PREFIX, '')
    if (name === 'close') {
      closeMergeRequest(context, mergeRequest, user.id)
      changes['state_event'] = 'close'
      summary.push('Closed this merge request.')
    } else if (name === 'reopen') {
      reopenMergeRequest(context, mergeRequest, user.id)
      changes['state_event'] = 'reopen'
      summary.push('Reopened this merge request.')
    } else if (name === 'draft' && !isDraft(mergeRequest)) {
      setTitle(context, mergeRequest, user, `Draft: ${plain}`)
      changes['wip_event'] = 'draft'
      summary.push('Marked this merge request as a draft.')
    } else if (name === 'draft' || name === 'ready') {
      setTitle(context, mergeRequest, user, plain)
      changes['wip_event'] = 'ready'
      summary.push('Marked this merge request as ready.')
    } else if (name === 'title') {
      setTitle(context, mergeRequest, user, argument)
      changes['title'] = argument
      summary.push(`Changed the title to "${argument}".`)
    } else {
      const names = labelNames(argument)
      for (const label of names) if (name === 'label' && !project.labels.includes(label)) project.labels.push(label)
      const others = mergeRequest.labels.filter((label) => !names.includes(label))
      mergeRequest.labels = name === 'label' ? [...others, ...names] : others
      touch(context, mergeRequest)
      changes[name === 'label' ? 'add_label_ids' : 'remove_label_ids'] = names
      summary.push(`${name === 'label' ? 'Added' : 'Removed'} ${names.join(' ')} labels.`)
    }
  }
  return { changes, summary }
}
