/**
 * Threads on a merge request. One made here can be resolved, by developers and by its author; an open one stands in the way
 * of merging where the project says so. A plain note is a thread of its own, which nobody resolves.
 */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { DEVELOPER } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { forbidden, frameworkError, notFound } from '../errors.ts'
import { paginate } from '../pagination.ts'
import { flag, pathParam, readParams, text } from '../params.ts'
import { presentNote } from '../present/note.ts'
import type { MergeRequest, Note } from '../state.ts'
import { type MergeRequestAccess, requireMergeRequest } from './merge-requests.ts'
import { addNote, notesOf, requireBody, requireNote, writing } from './notes.ts'

interface Discussion {
  readonly id: string
  readonly notes: readonly Note[]
}

/** Forty hex digits, as GitLab's; a plain note's follow from its number. */
function discussionIdOf(note: Note): string {
  return note.discussionId ?? createHash('sha1').update(`note ${note.id}`).digest('hex')
}

/** Oldest first. */
function discussionsOf(context: SandboxContext, mergeRequest: MergeRequest): Discussion[] {
  const byId = Map.groupBy(notesOf(context, mergeRequest), discussionIdOf)
  return [...byId].map(([id, notes]) => ({ id, notes }))
}

function present(context: SandboxContext, mergeRequest: MergeRequest, { id, notes }: Discussion) {
  return {
    id,
    individual_note: notes[0]?.discussionId === undefined,
    notes: notes.map((note) => presentNote(context, mergeRequest, note)),
  }
}

interface DiscussionAccess extends MergeRequestAccess {
  readonly discussion: Discussion
}

function requireDiscussion(request: FastifyRequest, context: SandboxContext): DiscussionAccess {
  const access = requireMergeRequest(request, context)
  const id = pathParam(request, 'discussion_id')
  const discussion = discussionsOf(context, access.mergeRequest).find((candidate) => candidate.id === id)
  if (!discussion) throw notFound('Discussion')
  return { ...access, discussion }
}

/** Says of all these notes whether they are resolved. */
function resolve(context: SandboxContext, access: DiscussionAccess, notes: readonly Note[], resolved: boolean): void {
  const { mergeRequest, user, level } = access
  if (level < DEVELOPER && mergeRequest.authorId !== user.id) throw forbidden()
  if (notes[0]?.discussionId === undefined) throw forbidden()
  for (const note of notes) note.resolved = resolved ? { userId: user.id, at: context.timestamp() } : null
  context.save()
}

export function registerDiscussionRoutes(app: FastifyInstance, context: SandboxContext): void {
  const list = '/api/v4/projects/:id/merge_requests/:iid/discussions'
  const one = `${list}/:discussion_id`
  app.get(list, async (request, reply) => {
    const { mergeRequest } = requireMergeRequest(request, context)
    const shown = paginate(request, reply, context.externalUrl, discussionsOf(context, mergeRequest))
    return shown.map((discussion) => present(context, mergeRequest, discussion))
  })
  app.get(one, async (request) => {
    const { mergeRequest, discussion } = requireDiscussion(request, context)
    return present(context, mergeRequest, discussion)
  })
  app.post(list, async (request, reply) => {
    const { user, mergeRequest } = requireMergeRequest(request, context)
    const { body } = readParams(request, writing)
    requireBody(body)
    const id = createHash('sha1').update(`discussion ${context.nextId()}`).digest('hex')
    const note = addNote(context, mergeRequest, user, { body, discussionId: id, resolved: null })
    return reply.code(201).send(present(context, mergeRequest, { id, notes: [note] }))
  })
  app.post(`${one}/notes`, async (request, reply) => {
    const { user, mergeRequest, discussion } = requireDiscussion(request, context)
    const { body } = readParams(request, writing)
    requireBody(body)
    const [first] = discussion.notes
    // An answer to a resolved thread leaves it resolved.
    const thread =
      first?.discussionId === undefined ? {} : { discussionId: discussion.id, resolved: first.resolved ?? null }
    const note = addNote(context, mergeRequest, user, { body, ...thread })
    return reply.code(201).send(presentNote(context, mergeRequest, note))
  })
  app.put(one, async (request) => {
    const access = requireDiscussion(request, context)
    const { resolved } = readParams(request, z.object({ resolved: flag }))
    resolve(context, access, access.discussion.notes, resolved)
    return present(context, access.mergeRequest, access.discussion)
  })
  app.put(`${one}/notes/:note_id`, async (request) => {
    const access = requireDiscussion(request, context)
    const note = requireNote(request, context, access.mergeRequest)
    const given = readParams(request, z.object({ body: text.optional(), resolved: flag.optional() }))
    if ((given.body === undefined) === (given.resolved === undefined)) {
      throw frameworkError('body, resolved are mutually exclusive, exactly one parameter must be provided')
    }
    if (given.resolved !== undefined) resolve(context, access, [note], given.resolved)
    if (given.body !== undefined) {
      if (note.authorId !== access.user.id) throw forbidden()
      requireBody(given.body)
      note.body = given.body
      note.updatedAt = context.timestamp()
      context.save()
      context.signals.emit('note', { note, edited: true })
    }
    return presentNote(context, access.mergeRequest, note)
  })
}
