/**
 * GET /api/v1/whoami: who the caller is and what its rules give. It takes no permission, for those who have none ask it most
 * of all; it tells nothing but what the caller could find out by trying (decision 0082).
 */
import type { Grant } from '../../auth/identity.ts'
import { type WhoAmI, whoamiSchema } from '../../contract/whoami.ts'
import { noQuery } from '../validation.ts'
import { type Api, answer, problemResponses, type RouteDependencies } from './route.ts'

export function registerWhoAmI(app: Api, { access }: RouteDependencies): void {
  app.route({
    method: 'GET',
    url: '/whoami',
    onRequest: (request) => access.identify(request),
    schema: {
      operationId: 'whoami',
      tags: ['callers'],
      summary: 'Who am I, and what may I do?',
      description: 'Answers for any valid token, also for one that no rule gives anything.',
      querystring: noQuery,
      response: { 200: answer(whoamiSchema, 'The caller and its rules.'), ...problemResponses() },
    },
    async handler(request) {
      const { name, credential, grants } = access.identityOf(request)
      return {
        caller: name,
        kind: credential.kind,
        issuer: credential.issuer,
        expires_at: credential.expiresAt?.toISOString() ?? null,
        rules: grants.map(ruleView),
      }
    },
  })
}

function ruleView({ rule, permissions, itemTypes, projects, branches, paths }: Grant): WhoAmI['rules'][number] {
  const patterns = (limit: Grant['projects']) => (limit === undefined ? null : [...limit.patterns])
  return {
    name: rule,
    permissions: [...permissions],
    item_types: itemTypes === '*' ? null : [...itemTypes],
    projects: patterns(projects),
    branches: patterns(branches),
    paths: patterns(paths),
  }
}
