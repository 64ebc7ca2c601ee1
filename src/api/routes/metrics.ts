/**
 * GET /metrics, for whoever watches the service. Like the health checks it takes no token, and holds nothing that only some
 * may know (decision 0075).
 */
import type { Api } from './route.ts'

export interface MetricsSource {
  readonly contentType: string
  read(): Promise<string>
}

export function registerMetrics(app: Api, metrics: MetricsSource): void {
  app.route({
    method: 'GET',
    url: '/metrics',
    schema: { hide: true },
    async handler(_request, reply) {
      const text = await metrics.read()
      return reply.header('content-type', metrics.contentType).send(text)
    },
  })
}
