/**
 * GET /openapi.json for programs and GET /docs for people: the same document twice.
 */
import { createHash } from 'node:crypto'
import { renderDocs } from '../docs-page.ts'
import { DOCS_STYLE } from '../docs-style.ts'
import type { Api } from './route.ts'

/** The page needs its own style sheet and nothing else: no script, no frame, no other host. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(DOCS_STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function registerDocumentation(app: Api): void {
  let page: string | undefined
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
  app.get('/docs', { schema: { hide: true } }, async (_request, reply) => {
    page ??= renderDocs(app.swagger())
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY).type('text/html; charset=utf-8')
    return page
  })
}
