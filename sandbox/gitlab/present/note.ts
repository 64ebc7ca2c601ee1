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
    type: note.discussionId === undefined ? null : 'DiscussionNote',
    body: note.body,
    attachment: null,
    author: presentUserId(context, note.authorId),
    created_at: note.createdAt,
    updated_at: note.updatedAt,
    system: note.system,
    noteable_id: mergeRequest.id,
    noteable_type: note.noteableType,
    project_id: note.projectId,
    resolvable: note.discussionId !== undefined,
    ...(note.discussionId === undefined
      ? {}
      : {
          resolved: note.resolved != null,
          resolved_by: presentUserId(context, note.resolved?.userId ?? null),
          resolved_at: note.resolved?.at ?? null,
        }),
    confidential: false,
    internal: false,
    imported: false,
    imported_from: 'none',
    noteable_iid: note.noteableIid,
    commands_changes: commandsChanges,
  }
}
