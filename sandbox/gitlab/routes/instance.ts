/** The instance itself and its users: version, metadata, the token's user, looking users up. */
import type { FastifyInstance } from 'fastify'
import { requireUser } from '../auth.ts'
import type { SandboxContext } from '../context.ts'
import { notFound } from '../errors.ts'
import { paginate } from '../pagination.ts'
import { numberParam, rawParams } from '../params.ts'
import { presentCurrentUser, presentUser, presentUserProfile } from '../present/user.ts'

/** The GitLab whose behaviour this sandbox follows. */
export const VERSION = '18.5.0'
const REVISION = 'sandbox'

export function registerInstanceRoutes(app: FastifyInstance, context: SandboxContext): void {
  app.get('/api/v4/version', async (request) => {
    requireUser(request, context)
    return { version: VERSION, revision: REVISION }
  })
  app.get('/api/v4/metadata', async (request) => {
    requireUser(request, context)
    return {
      version: VERSION,
      revision: REVISION,
      kas: { enabled: false, externalUrl: null, externalK8sProxyUrl: null, version: null },
      enterprise: true,
    }
  })
  app.get('/api/v4/user', async (request) => presentCurrentUser(context, requireUser(request, context)))
  app.get('/api/v4/users', async (request, reply) => {
    requireUser(request, context)
    const { username, search } = rawParams(request)
    const fits = (name: string) =>
      (typeof username !== 'string' || name.toLowerCase() === username.toLowerCase()) &&
      (typeof search !== 'string' || name.toLowerCase().includes(search.toLowerCase()))
    const users = context.state.users.filter((user) => fits(user.username))
    return paginate(request, reply, context.externalUrl, users).map((user) => presentUser(context, user))
  })
  app.get('/api/v4/users/:user_id', async (request) => {
    requireUser(request, context)
    const user = context.findUser(numberParam(request, 'user_id'))
    if (!user) throw notFound('User')
    return presentUserProfile(context, user)
  })
}
