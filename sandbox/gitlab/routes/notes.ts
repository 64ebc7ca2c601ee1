/**
 * Notes on merge requests. A body whose lines are all quick actions makes no note (202); one with text and quick actions
 * keeps the text and executes the rest. The known actions are listed in merge-requests/quick-actions.ts.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { MAINTAINER } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { badRequest, forbidden, recordNotFound } from '../errors.ts'
import { applyQuickActions, extractQuickActions } from '../merge-requests/quick-actions.ts'
import { paginate } from '../pagination.ts'
import { numberParam, readParams, text } from '../params.ts'
import { presentNote } from '../present/note.ts'
import type { MergeRequest, Note, User } from '../state.ts'
import { requireMergeRequest } from './merge-requests.ts'
import { noContent } from './projects.ts'

const MAX_BODY = 1_000_000
export const writing = z.object({ body: text })

export function notesOf(context: SandboxContext, mergeRequest: MergeRequest): Note[] {
  return context.state.notes.filter(
    (note) =>
      note.noteableType === 'MergeRequest' &&
      note.projectId === mergeRequest.projectId &&
      note.noteableIid === mergeRequest.iid,
  )
}

export function requireNote(request: FastifyRequest, context: SandboxContext, mergeRequest: MergeRequest): Note {
  const note = notesOf(context, mergeRequest).find((candidate) => candidate.id === numberParam(request, 'note_id'))
  if (!note) throw recordNotFound()
  return note
}

export function requireBody(body: string): void {
  if (body.trim() === '') throw badRequest('Note {:note=>["can\'t be blank"]}')
  if (body.length > MAX_BODY) throw badRequest(`Note {:note=>["is too long (maximum is ${MAX_BODY} characters)"]}`)
}

export function addNote(
  context: SandboxContext,
  mergeRequest: MergeRequest,
  author: User,
  given: Pick<Note, 'body' | 'discussionId' | 'resolved'>,
): Note {
  const now = context.timestamp()
  const note: Note = {
    id: context.nextId(),
    projectId: mergeRequest.projectId,
    noteableType: 'MergeRequest',
    noteableIid: mergeRequest.iid,
    authorId: author.id,
    system: false,
    createdAt: now,
    updatedAt: now,
    ...given,
  }
  context.state.notes.push(note)
  context.save()
  context.signals.emit('note', { note })
  return note
}

const listing = z.object({
  sort: z.enum(['asc', 'desc']).optional(),
  order_by: z.enum(['created_at', 'updated_at']).optional(),
  activity_filter: z.enum(['all_notes', 'only_comments', 'only_activity']).optional(),
})

export function registerNoteRoutes(app: FastifyInstance, context: SandboxContext): void {
  const list = '/api/v4/projects/:id/merge_requests/:iid/notes'
  const one = `${list}/:note_id`
  app.get(list, async (request, reply) => {
    const { mergeRequest } = requireMergeRequest(request, context)
    const { sort = 'desc', order_by = 'created_at', activity_filter: filter } = readParams(request, listing)
    const key = (note: Note) => (order_by === 'created_at' ? note.createdAt : note.updatedAt)
    const notes = notesOf(context, mergeRequest)
      .filter((note) => (filter === 'only_comments' ? !note.system : filter !== 'only_activity' || note.system))
      .sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.id - b.id))
    if (sort === 'desc') notes.reverse()
    return paginate(request, reply, context.externalUrl, notes).map((note) => presentNote(context, mergeRequest, note))
  })
  app.get(one, async (request) => {
    const { mergeRequest } = requireMergeRequest(request, context)
    return presentNote(context, mergeRequest, requireNote(request, context, mergeRequest))
  })
  app.post(list, async (request, reply) => {
    const { project, user, mergeRequest } = requireMergeRequest(request, context)
    const { body } = readParams(request, writing)
    requireBody(body)
    const { text: kept, actions } = extractQuickActions(body)
    const { changes, summary } = applyQuickActions(context, project, mergeRequest, user, actions)
    if (kept === '') return reply.code(202).send({ commands_changes: changes, summary })
    const note = addNote(context, mergeRequest, user, { body: kept })
    return reply.code(201).send(presentNote(context, mergeRequest, note, changes))
  })
  app.put(one, async (request) => {
    const { user, mergeRequest } = requireMergeRequest(request, context)
    const note = requireNote(request, context, mergeRequest)
    const { body } = readParams(request, writing)
    if (note.authorId !== user.id || note.system) throw forbidden()
    requireBody(body)
    note.body = extractQuickActions(body).text
    note.updatedAt = context.timestamp()
    context.save()
    context.signals.emit('note', { note, edited: true })
    return presentNote(context, mergeRequest, note)
  })
  app.delete(one, async (request, reply) => {
    const { user, mergeRequest, level } = requireMergeRequest(request, context)
    const note = requireNote(request, context, mergeRequest)
    if (note.system || (note.authorId !== user.id && level < MAINTAINER)) throw forbidden()
    context.state.notes.splice(context.state.notes.indexOf(note), 1)
    context.save()
    return noContent(reply)
  })
}
