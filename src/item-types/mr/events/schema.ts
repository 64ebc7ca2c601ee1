/**
 * The few fields of GitLab's webhook bodies that say which merge requests an event may concern. Everything else in a body
 * is hearsay: it may be old, repeated or forged, and the service asks GitLab instead.
 */
import { z } from 'zod'

const projectSchema = z.looseObject({ id: z.int().positive() })
const iid = z.int().positive()
/** Null where a pipeline or note has none. */
const mergeRequestSchema = z.looseObject({ iid, source_project_id: z.int(), target_project_id: z.int() }).nullish()

/** What an event points at. Every part that is given names merge requests of its own. */
export interface Pointers {
  readonly projectId: number
  readonly mrIid?: number
  readonly pipelineId?: number
  readonly sourceBranch?: string
  readonly targetBranch?: string
}

const BRANCH_REF = 'refs/heads/'
/** What a pipeline of a merge request runs on. */
const MERGE_REQUEST_REF = /^refs\/merge-requests\/([1-9]\d{0,14})\/(?:head|merge|train)$/
/** Jobs that have ended; the many events before that tell nothing that their pipeline does not. */
const ENDED_JOBS = ['success', 'failed', 'canceled', 'skipped']

const bodySchemas = {
  merge_request: z
    .looseObject({
      project: projectSchema,
      object_attributes: z.looseObject({ iid, source_project_id: z.int(), target_project_id: z.int() }),
    })
    .transform(({ project, object_attributes: mr }) => fromMergeRequest(project.id, mr)),
  // Its ref is the source branch, also of a pipeline that the service has not seen yet.
  pipeline: z
    .looseObject({
      project: projectSchema,
      object_attributes: z.looseObject({ id: z.int().positive(), ref: z.string() }),
      merge_request: mergeRequestSchema,
    })
    .transform(({ project, object_attributes: { id, ref }, merge_request }) => ({
      ...fromMergeRequest(project.id, merge_request),
      projectId: project.id,
      pipelineId: id,
      ...fromRef(ref),
    })),
  build: z
    .looseObject({
      project_id: z.int().positive(),
      pipeline_id: z.int().positive(),
      ref: z.string(),
      build_status: z.enum(ENDED_JOBS),
    })
    .transform(({ project_id, pipeline_id, ref }) => ({
      projectId: project_id,
      pipelineId: pipeline_id,
      ...fromRef(ref),
    })),
  note: z
    .looseObject({ project: projectSchema, merge_request: mergeRequestSchema })
    .transform(({ project, merge_request }) => fromMergeRequest(project.id, merge_request)),
  // To the source: somebody works on the branch. To the target: it may conflict from now on.
  push: z
    .looseObject({ project_id: z.int().positive(), ref: z.string().startsWith(BRANCH_REF) })
    .transform(({ project_id, ref }) => {
      const branch = ref.slice(BRANCH_REF.length)
      return { projectId: project_id, sourceBranch: branch, targetBranch: branch }
    }),
} as const satisfies Readonly<Record<string, z.ZodType<Pointers | null>>>

/** null: the event has nothing to do with merge requests of ours, or cannot be read. */
export function readPointers(eventType: string, body: unknown): Pointers | null {
  if (!Object.hasOwn(bodySchemas, eventType)) return null
  const result = bodySchemas[eventType as keyof typeof bodySchemas].safeParse(body)
  return result.success ? result.data : null
}

/** A job of a merge request's pipeline names no branch, and its pipeline may not be known to the service yet. */
function fromRef(ref: string): { readonly mrIid: number } | { readonly sourceBranch: string } {
  const mrIid = MERGE_REQUEST_REF.exec(ref)?.[1]
  return mrIid === undefined ? { sourceBranch: ref } : { mrIid: Number(mrIid) }
}

/** A merge request from a fork shares the iid's project but never is the service's. */
function fromMergeRequest(
  projectId: number,
  mergeRequest: { iid: number; source_project_id: number; target_project_id: number } | null | undefined,
): Pointers | null {
  if (!mergeRequest || mergeRequest.source_project_id !== mergeRequest.target_project_id) return null
  if (mergeRequest.target_project_id !== projectId) return null
  return { projectId, mrIid: mergeRequest.iid }
}
