/**
 * The service's notes on a merge request. Each kind exists once: it is found again by a hidden mark and by its author, and
 * edited rather than repeated, so that a note whose answer was lost is not written twice. A caller cannot forge the mark:
 * the author decides.
 */
import type { GitLabMergeRequest, GitLabNote } from '../../../gitlab/port.ts'
import { sanitizeText } from '../sanitize-text.ts'
import type { Action } from './context.ts'

type Kind = 'status' | 'closing'

/** Writes the one status note, and remembers it. */
export async function putStatusNote(action: Action, projectId: number, iid: number, text: string): Promise<void> {
  const { services, draft, context } = action
  const body = markedBody(draft.item.id, 'status', text)
  const known = draft.detail.noteId
  if (known !== null && (await services.gitlab.updateNote(projectId, iid, known, body, context))) return
  draft.detail.noteId = await putNote(action, projectId, iid, 'status', body)
}

/** Says why the service is about to close it. */
export async function postClosingNote(action: Action, { projectId, iid }: GitLabMergeRequest, text: string) {
  await putNote(action, projectId, iid, 'closing', markedBody(action.draft.item.id, 'closing', text))
}

async function putNote(
  { services, draft, context }: Action,
  projectId: number,
  iid: number,
  kind: Kind,
  body: string,
): Promise<number> {
  const { gitlab } = services
  const own = await gitlab.getOwnUser(context)
  const isIt = (note: GitLabNote) =>
    !note.system && note.authorId === own.id && note.body.endsWith(markOf(draft.item.id, kind))
  const there = (await gitlab.listNotes(projectId, iid, context)).find(isIt)
  if (there === undefined) return gitlab.createNote(projectId, iid, body, context)
  if (there.body !== body) await gitlab.updateNote(projectId, iid, there.id, body, context)
  return there.id
}

function markedBody(itemId: string, kind: Kind, text: string): string {
  return `${sanitizeText(text)}\n\n${markOf(itemId, kind)}`
}

function markOf(itemId: string, kind: Kind): string {
  return `<!-- workqueue-service ${kind} ${itemId} -->`
}
