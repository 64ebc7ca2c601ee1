/** Notes as JSON. */
import type { SandboxContext } from '../context.ts'
import type { MergeRequest, Note } from '../state.ts'
import { presentUserId } from './user.ts'

export function presentNote(
  context: SandboxContext,
  mergeRequest: MergeRequest,
  note: Note,
  commandsChanges: Readonly<Record<string, unknown>> = {},
) {
  return {
    id: note.id,
    type: null,
    body: note.body,
    attachment: null,
    author: presentUserId(context, note.authorId),
    created_at: note.createdAt,
    updated_at: note.updatedAt,
    system: note.system,
    noteable_id: mergeRequest.id,
    noteable_type: note.noteableType,
    project_id: note.projectId,
    resolvable: false,
    confidential: false,
    internal: false,
    imported: false,
    imported_from: 'none',
    noteable_iid: note.noteableIid,
    commands_changes: commandsChanges,
  }
}
