/**
 * The OpenAPI 3.1 document, made from the schemas of the routes.
 */
import fastifySwagger from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { Api } from './routes/route.ts'

const DESCRIPTION =
  'Send the desired state of a change; the service checks it, writes it with its own credentials, and stays with it ' +
  'until it is merged, closed or given up. Every error is a problem document (RFC 9457) with a stable `code`.'

export async function describeApi(app: Api, version: string): Promise<void> {
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Work queue service', version, description: DESCRIPTION },
      tags: [
        { name: 'work items', description: 'Submit work, look at it, retry it, cancel it.' },
        { name: 'webhooks', description: 'How GitLab tells the service that something happened.' },
        { name: 'operation', description: 'For whoever runs the service.' },
      ],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A token of the service, made with `wq token`.' },
        },
      },
      security: [{ bearer: [] }],
    },
    convertConstToEnum: false,
    transform: jsonSchemaTransform,
    transformObject: (document) => withoutUnused(jsonSchemaTransformObject(document)),
  })
}

/** Each shared schema is generated for requests and for answers; what nothing refers to only confuses readers. */
function withoutUnused<T extends object>(document: T): T {
  const copy = structuredClone(document) as T & { components?: { schemas?: Record<string, unknown> } }
  const schemas = copy.components?.schemas ?? {}
  for (;;) {
    const text = JSON.stringify(copy)
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`))
    if (unused.length === 0) return copy
    for (const name of unused) delete schemas[name]
  }
}
