/**
 * `git clone`, `git fetch` and `git push` over smart HTTP, by handing the conversation to git's own upload-pack and
 * receive-pack. All projects are private: a token is needed, as the password of any user name. What a push may change is
 * decided in git-push.ts; what follows from it is the affair of whoever listens to pushes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DEVELOPER, REPORTER } from './auth.ts'
import type { SandboxContext } from './context.ts'
import { gitEnvironment } from './git/process.ts'
import { ZERO_SHA } from './git/repository.ts'
import {
  needsFastForward,
  openCommands,
  packet,
  pushesOf,
  readPushRequest,
  refusalAnswer,
  refusalOf,
} from './git-push.ts'
import { pathParam } from './params.ts'
import { setDefaultBranch } from './projects.ts'
import { recordPush } from './pushes.ts'
import type { Project, Push, User } from './state.ts'

const TIMEOUT_MS = 120_000
const SERVICE_PATH = /^\/?(.+)\.git\/(info\/refs|git-upload-pack|git-receive-pack)$/

type Service = 'upload-pack' | 'receive-pack'

/** An answer in plain text, as git shows it. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, text: string) {
    super(text)
    this.status = status
  }
}

export function registerGitHttp(app: FastifyInstance, context: SandboxContext): void {
  // The pages own `/*`; this tells git's requests from a browser's before routes are matched.
  app.addConstraintStrategy({
    name: 'git',
    storage: () => new Map(),
    deriveConstraint: (request: { url?: string | undefined }) =>
      SERVICE_PATH.test((request.url ?? '').split('?')[0] ?? '') ? 'git' : undefined,
  })
  app.register((scope, _options, registered) => {
    scope.removeAllContentTypeParsers()
    // The body stays a stream: a pack can be larger than memory likes.
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    const constraints = { git: 'git' }
    scope.get('/*', { constraints }, (request, reply) => answer(context, request, reply, advertise))
    scope.post('/*', { constraints }, (request, reply) => answer(context, request, reply, converse))
    registered()
  })
}

type Handler = (context: SandboxContext, request: FastifyRequest, reply: FastifyReply, path: string) => Promise<unknown>

async function answer(context: SandboxContext, request: FastifyRequest, reply: FastifyReply, handler: Handler) {
  try {
    return await handler(context, request, reply.header('cache-control', 'no-cache'), pathParam(request, '*'))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.status === 401) reply.header('www-authenticate', 'Basic realm="GitLab"')
    return reply.code(error.status).type('text/plain; charset=utf-8').send(`${error.message}\n`)
  }
}

/** `GET …/info/refs?service=git-upload-pack`: which references there are. */
async function advertise(context: SandboxContext, request: FastifyRequest, reply: FastifyReply, path: string) {
  const [, projectPath = '', action] = SERVICE_PATH.exec(path) ?? []
  const asked = new URL(request.url, 'http://localhost').searchParams.get('service') ?? ''
  const service = serviceOf(asked)
  if (action !== 'info/refs' || service === null) throw new Refusal(403, 'Only the smart HTTP protocol is served.')
  const { project } = authorize(context, request, projectPath, service)
  const git = startGit(context, project, request, service, ['--advertise-refs'])
  git.stdin?.end()
  const secondVersion = service === 'upload-pack' && protocolOf(request).includes('version=2')
  const header = secondVersion ? '' : `${packet(`# service=git-${service}\n`)}0000`
  reply.type(`application/x-git-${service}-advertisement`)
  return reply.send(outputOf(git, Buffer.from(header)))
}

/** `POST …/git-upload-pack` and `POST …/git-receive-pack`: the conversation itself. */
async function converse(context: SandboxContext, request: FastifyRequest, reply: FastifyReply, path: string) {
  const [, projectPath = '', action = ''] = SERVICE_PATH.exec(path) ?? []
  const service = serviceOf(action)
  if (service === null) throw new Refusal(404, 'Not found')
  const { project, user } = authorize(context, request, projectPath, service)
  const body = decoded(request)
  reply.type(`application/x-git-${service}-result`)
  if (service === 'receive-pack') return reply.send(await receive(context, request, project, user, body))
  const git = startGit(context, project, request, service, [])
  body.on('error', () => git.kill())
  if (git.stdin) body.pipe(git.stdin)
  return reply.send(outputOf(git))
}

/** Takes a push in, alone among the project's writers, and tells of every branch that moved. */
async function receive(
  context: SandboxContext,
  request: FastifyRequest,
  project: Project,
  user: User,
  body: Readable,
): Promise<Buffer> {
  const push = await readPushRequest(body).catch((error) => {
    throw new Refusal(400, error instanceof Error ? error.message : 'Bad request')
  })
  const { commands, head, rest } = push
  const refused = refusalOf(context, project, user, commands)
  if (refused !== null) {
    // git reads the answer only once it has sent everything.
    while (!(await rest.next()).done);
    return refusalAnswer(push, refused)
  }
  return context.exclusive(project, async () => {
    const config = needsFastForward(context, project, user, commands) ? ['receive.denyNonFastForwards=true'] : []
    const open = await openCommands(context, project, commands)
    const git = startGit(context, project, request, 'receive-pack', [], config)
    const output = collect(git)
    // A client that goes away in the middle must not leave git waiting for the rest.
    if (git.stdin) pipeline(Readable.from(chained(head, rest)), git.stdin).catch(() => git.kill())
    const answered = await output
    const pushes = await pushesOf(context, project, user, open)
    await settleEmptyProject(context, project, pushes)
    for (const moved of pushes) recordPush(context, moved)
    return answered
  })
}

/** The first branch of an empty project becomes its default. */
async function settleEmptyProject(context: SandboxContext, project: Project, pushes: readonly Push[]): Promise<void> {
  const branches = pushes.filter((push) => push.after !== ZERO_SHA).map((push) => push.branch)
  const [first] = branches
  if (!project.emptyRepo || first === undefined) return
  project.emptyRepo = false
  if (!branches.includes(project.defaultBranch)) await setDefaultBranch(context, project, first)
}

function authorize(context: SandboxContext, request: FastifyRequest, path: string, service: Service) {
  const [, encoded = ''] = /^Basic\s+(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  const credentials = Buffer.from(encoded, 'base64').toString('utf8')
  const user = context.userOf(credentials.slice(credentials.indexOf(':') + 1))
  if (encoded === '' || user === null) {
    throw new Refusal(401, 'HTTP Basic: Access denied. Give any user name, and an access token as the password.')
  }
  const project = context.findProject(path)
  const level = project === null ? 0 : context.accessLevel(project, user)
  if (project === null || level === 0) {
    throw new Refusal(
      404,
      "The project you were looking for could not be found or you don't have permission to view it.",
    )
  }
  if (level < REPORTER) throw new Refusal(403, 'You are not allowed to download code from this project.')
  if (service === 'receive-pack' && (level < DEVELOPER || project.archived)) {
    throw new Refusal(403, 'You are not allowed to push code to this project.')
  }
  return { project, user }
}

function serviceOf(name: string): Service | null {
  return name === 'git-upload-pack' ? 'upload-pack' : name === 'git-receive-pack' ? 'receive-pack' : null
}

/** The protocol version the client asks for, if it is written as git writes it. */
function protocolOf(request: FastifyRequest): string {
  const header = request.headers['git-protocol']
  return typeof header === 'string' && /^[a-z0-9=:]{1,64}$/.test(header) ? header : ''
}

function decoded(request: FastifyRequest): Readable {
  const raw = request.body instanceof Readable ? request.body : Readable.from([])
  if (request.headers['content-encoding'] !== 'gzip') return raw
  const plain = createGunzip()
  raw.on('error', (error) => plain.destroy(error))
  return raw.pipe(plain)
}

function startGit(
  context: SandboxContext,
  project: Project,
  request: FastifyRequest,
  service: Service,
  options: readonly string[],
  config: readonly string[] = [],
): ChildProcess {
  const { directory } = context.git(project)
  const settings = config.flatMap((setting) => ['-c', setting])
  const protocol = service === 'upload-pack' ? protocolOf(request) : ''
  const git = spawn('git', [...settings, service, '--stateless-rpc', ...options, directory], {
    env: gitEnvironment(protocol === '' ? {} : { GIT_PROTOCOL: protocol }),
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  // git may hang up before it has read everything; the client learns it from the answer.
  git.stdin?.on('error', () => {})
  git.on('error', (error) => context.log.error({ error: error.message }, 'sandbox git process failed'))
  let complaint = ''
  git.stderr?.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-500)
  })
  git.on('close', (code, signal) => {
    if (code !== 0) context.log.warn({ service, code, signal, complaint }, 'git ended a conversation early')
  })
  return git
}

/**
 * What git answers, after an optional header. It is taken over at once: when a process ends before anybody reads its
 * output, Node throws that output away, and the server begins to read a moment after it was handed the stream.
 */
function outputOf(git: ChildProcess, header: Buffer = Buffer.alloc(0)): Readable {
  const output = new PassThrough()
  if (header.length > 0) output.write(header)
  git.stdout?.pipe(output)
  git.on('error', (error) => output.destroy(error))
  return output
}

async function* chained(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}

function collect(git: ChildProcess): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    git.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
    git.on('error', reject)
    // A push that git declines ends with an answer too; what moved is looked up afterwards.
    git.on('close', () => resolve(Buffer.concat(chunks)))
  })
}
