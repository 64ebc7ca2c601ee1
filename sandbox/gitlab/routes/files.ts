/** What is in the repository at a reference: trees, files (as JSON, raw, headers only) and blobs. Bytes are exact. */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { REPORTER, requireProject } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { notFound } from '../errors.ts'
import {
  lastCommitFor,
  listTree,
  type Repository,
  readBlob,
  resolveCommit,
  type TreeEntry,
  treeEntry,
} from '../git/repository.ts'
import { paginate } from '../pagination.ts'
import { flag, pathParam, readParams, text } from '../params.ts'
import type { Project } from '../state.ts'

interface FileView {
  readonly path: string
  readonly ref: string
  readonly entry: TreeEntry
  readonly content: Buffer
  readonly commitId: string
  readonly lastCommitId: string
}

async function findFile(repo: Repository, project: Project, request: FastifyRequest): Promise<FileView> {
  const { ref = 'HEAD' } = readParams(request, z.object({ ref: text.optional() }))
  const path = pathParam(request, 'file_path')
  const commitId = await resolveCommit(repo, ref === 'HEAD' ? project.defaultBranch : ref)
  if (commitId === null) throw notFound('Commit')
  const entry = await treeEntry(repo, commitId, path)
  if (entry?.type !== 'blob') throw notFound('File')
  const content = await readBlob(repo, entry.sha)
  return { path, ref, entry, content, commitId, lastCommitId: (await lastCommitFor(repo, commitId, path)) ?? commitId }
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function setFileHeaders(reply: FastifyReply, file: FileView): FastifyReply {
  const headers: Record<string, string> = {
    'x-gitlab-blob-id': file.entry.sha,
    'x-gitlab-commit-id': file.commitId,
    'x-gitlab-content-sha256': sha256(file.content),
    'x-gitlab-encoding': 'base64',
    'x-gitlab-execute-filemode': String(file.entry.mode === '100755'),
    'x-gitlab-file-name': encodeURIComponent(file.path.split('/').at(-1) ?? ''),
    'x-gitlab-file-path': encodeURI(file.path),
    'x-gitlab-last-commit-id': file.lastCommitId,
    'x-gitlab-ref': encodeURI(file.ref),
    'x-gitlab-size': String(file.content.length),
  }
  return reply.headers(headers)
}

function presentFile(file: FileView) {
  return {
    file_name: file.path.split('/').at(-1),
    file_path: file.path,
    size: file.content.length,
    encoding: 'base64',
    content: file.content.toString('base64'),
    content_sha256: sha256(file.content),
    ref: file.ref,
    blob_id: file.entry.sha,
    commit_id: file.commitId,
    last_commit_id: file.lastCommitId,
    execute_filemode: file.entry.mode === '100755',
  }
}

function sendRaw(reply: FastifyReply, content: Buffer): FastifyReply {
  const type = content.subarray(0, 8_000).includes(0) ? 'application/octet-stream' : 'text/plain; charset=utf-8'
  return reply.headers({ 'content-type': type, 'content-disposition': 'inline' }).send(content)
}

const treeParams = z.object({ ref: text.optional(), path: text.optional(), recursive: flag.optional() })

function presentEntry({ sha, type, path, mode }: TreeEntry) {
  return { id: sha, name: path.split('/').at(-1), type, path, mode }
}

export function registerFileRoutes(app: FastifyInstance, context: SandboxContext): void {
  const base = '/api/v4/projects/:id/repository'
  app.get(`${base}/tree`, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const given = readParams(request, treeParams)
    const repo = context.git(project)
    const commit = await resolveCommit(repo, given.ref ?? project.defaultBranch)
    const path = (given.path ?? '').replace(/^\/+|\/+$/g, '')
    const recursive = given.recursive ?? false
    const entries = commit === null ? null : await listTree(repo, commit, path, { recursive, trees: recursive })
    if (entries === null) throw notFound('Tree')
    // GitLab lists directories before files.
    const ordered = [
      ...entries.filter((entry) => entry.type === 'tree'),
      ...entries.filter((entry) => entry.type !== 'tree'),
    ]
    return paginate(request, reply, context.externalUrl, ordered).map(presentEntry)
  })
  app.head(`${base}/files/:file_path`, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    return setFileHeaders(reply, await findFile(context.git(project), project, request))
      .code(200)
      .send()
  })
  app.get(`${base}/files/:file_path`, { exposeHeadRoute: false }, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const file = await findFile(context.git(project), project, request)
    return setFileHeaders(reply, file).send(presentFile(file))
  })
  app.get(`${base}/files/:file_path/raw`, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const file = await findFile(context.git(project), project, request)
    return sendRaw(setFileHeaders(reply, file), file.content)
  })
  app.get(`${base}/blobs/:sha/raw`, async (request, reply) => {
    const { project } = requireProject(request, context, REPORTER)
    const sha = pathParam(request, 'sha')
    const repo = context.git(project)
    const known =
      /^[0-9a-f]{40}$/.test(sha) &&
      (await repo.run(['cat-file', '-e', `${sha}^{blob}`], { allow: [1, 128] })).code === 0
    if (!known) throw notFound('Blob')
    return sendRaw(reply, await readBlob(repo, sha))
  })
}
