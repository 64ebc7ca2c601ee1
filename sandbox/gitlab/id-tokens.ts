/**
 * ID tokens for CI jobs, as GitLab issues them: the sandbox is the issuer, publishes its keys by OpenID Connect discovery, and
 * says in each token whose job it is. Who writes a job chooses the audience, here too. Jobs of the sandbox run no commands, so
 * that a token is asked for at `/sandbox/id-tokens`, by an administrator. The key is made anew at each start.
 */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { requireUser } from './auth.ts'
import type { SandboxContext } from './context.ts'
import { forbidden, notFound } from './errors.ts'
import { readParams, text } from './params.ts'
import { isProtected } from './protection.ts'
import type { Project } from './state.ts'

const LIFETIME_S = 300

const wanted = z.object({
  project: text,
  /** A branch. */
  ref: text,
  aud: text,
  pipeline_source: text.default('push'),
})

export function registerIdTokens(app: FastifyInstance, context: SandboxContext): void {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const kid = randomUUID()
  const key = { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }

  app.get('/.well-known/openid-configuration', async () => ({
    issuer: context.externalUrl,
    jwks_uri: `${context.externalUrl}/oauth/discovery/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  }))
  app.get('/oauth/discovery/keys', async () => ({ keys: [key] }))
  app.post('/sandbox/id-tokens', async (request, reply) => {
    const user = requireUser(request, context)
    if (!user.admin) throw forbidden()
    const { project: path, ...job } = readParams(request, wanted)
    const project = context.findProject(path)
    if (project === null) throw notFound('Project')
    const claims = claimsOf(context, project, { ...job, login: user.username })
    const body = [{ alg: 'RS256', kid, typ: 'JWT' }, claims].map(encode).join('.')
    const signature = sign('sha256', Buffer.from(body), privateKey).toString('base64url')
    return reply.code(201).send({ token: `${body}.${signature}` })
  })
}

interface Job extends Omit<z.infer<typeof wanted>, 'project'> {
  readonly login: string
}

/** GitLab writes most numbers and all booleans as texts. */
function claimsOf(context: SandboxContext, project: Project, { ref, aud, pipeline_source, login }: Job) {
  const now = Math.floor(context.clock.now().getTime() / 1_000)
  const path = project.pathWithNamespace
  return {
    iss: context.externalUrl,
    sub: `project_path:${path}:ref_type:branch:ref:${ref}`,
    aud,
    iat: now,
    nbf: now - 5,
    exp: now + LIFETIME_S,
    jti: randomUUID(),
    project_id: String(project.id),
    project_path: path,
    namespace_path: path.split('/').slice(0, -1).join('/'),
    user_login: login,
    pipeline_id: String(context.nextId()),
    pipeline_source,
    job_id: String(context.nextId()),
    ref,
    ref_type: 'branch',
    ref_path: `refs/heads/${ref}`,
    ref_protected: String(isProtected(project, ref)),
    runner_id: 1,
    runner_environment: 'self-hosted',
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
