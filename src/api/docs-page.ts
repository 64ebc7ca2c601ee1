/**
 * The documentation page: the OpenAPI document and the problem table, for people. Plain HTML without a script, so that it
 * can be read in any browser, in a terminal, and by whoever is behind the strictest proxy.
 */
import { z } from 'zod'
import { fieldRow, fieldTable, type JsonSchema, jsonSchema } from './docs-schema.ts'
import { DOCS_STYLE } from './docs-style.ts'
import { Html, html, prose } from './html.ts'
import { PROBLEMS } from './problem.ts'

const contentSchema = z.record(z.string(), z.object({ schema: jsonSchema }))

const operationSchema = z.object({
  operationId: z.string(),
  tags: z.array(z.string()).min(1),
  summary: z.string(),
  description: z.string().default(''),
  security: z.array(z.unknown()).optional(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.string(),
        required: z.boolean().default(false),
        schema: jsonSchema,
        description: z.string().optional(),
      }),
    )
    .default([]),
  requestBody: z.object({ content: contentSchema }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string(), content: contentSchema.optional() })),
})

const documentSchema = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string() }),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.object({ schemas: z.record(z.string(), jsonSchema) }),
})

type Operation = z.infer<typeof operationSchema> & { readonly path: string; readonly method: string }

/** `document` is an OpenAPI 3.1 document; the page is complete HTML. */
export function renderDocs(document: unknown): string {
  const { info, tags, paths, components } = documentSchema.parse(document)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method })),
  )
  const ofTag = (tag: string) => operations.filter((operation) => operation.tags[0] === tag)
  const names = Object.keys(components.schemas)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}: API</title>
<style>${new Html(DOCS_STYLE)}</style>
</head>
<body>
<div class="layout">
<nav aria-label="Contents">
<a href="#top"><strong>${info.title}</strong></a>
${tags.map((tag) => html`<h2>${tag.name}</h2><ul>${ofTag(tag.name).map(navEntry)}</ul>`)}
<h2>Reference</h2>
<ul><li><a href="#problems">Problems</a></li><li><a href="#schemas">Shapes</a></li><li><a href="/openapi.json">openapi.json</a></li></ul>
</nav>
<main id="top">
<h1>${info.title} <span class="version">${info.version}</span></h1>
<p>${prose(info.description)}</p>
${introduction()}
${tags.map(
  (tag) => html`<section><h2>${capitalized(tag.name)}</h2><p class="soft">${tag.description}</p>
${ofTag(tag.name).map(operationArticle)}</section>`,
)}
${problemSection()}
<section id="schemas"><h2>Shapes</h2><p class="soft">What the answers are made of. Times are ISO 8601 in UTC.</p>
${names.map((name) => schemaArticle(name, components.schemas[name] ?? {}))}</section>
</main>
</div>
</body>
</html>
`.text
}

function introduction(): Html {
  return html`<p>Everything under <code>/api</code> needs a token, except webhooks, which bring their own secret. The
examples take the address and the token from the environment:</p>
<pre>export WQ_URL=https://workqueue.example.com
export WQ_TOKEN=wq_…
curl -sS "$WQ_URL/api/v1/work-items?phase=active" -H "Authorization: Bearer $WQ_TOKEN"</pre>
<p>Each answer carries <code>x-request-id</code>, which names the request in the log of the service; a request may bring
its own. Unknown fields and query parameters are errors, so that a spelling mistake is never ignored.</p>`
}

function navEntry({ operationId, summary }: Operation): Html {
  return html`<li><a href="#${operationId}">${summary}</a></li>`
}

function operationArticle(operation: Operation): Html {
  const { operationId, method, path, summary, description, parameters, requestBody, responses, security } = operation
  const body = requestBody?.content['application/json']?.schema
  return html`<article id="${operationId}">
<header><h3>${summary}</h3>
<div class="address"><span class="method ${method}">${method.toUpperCase()}</span><code>${path}</code>
<span class="tag">${security?.length === 0 ? 'no token' : 'needs a token'}</span></div></header>
<div class="body">
${description ? html`<p>${prose(description)}</p>` : ''}
${
  parameters.length === 0
    ? ''
    : html`<h4>Parameters</h4><div class="scroll"><table>
<thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead>
<tbody>${parameters.map((parameter) =>
        fieldRow(
          parameter.name,
          { ...parameter.schema, description: parameter.description ?? parameter.schema.description },
          parameter.required,
        ),
      )}</tbody></table></div>`
}
${body ? bodySection(body) : ''}
<h4>Example</h4>
<pre>${curlExample(operation)}</pre>
<h4>Answers</h4>
<div class="scroll"><table><tbody>${Object.entries(responses).map(([status, { description: meaning, content }]) =>
    responseRow(status, meaning, Object.values(content ?? {})[0]?.schema),
  )}</tbody></table></div>
</div></article>`
}

function bodySection(body: JsonSchema): Html {
  return html`<h4>Body</h4>${(body.oneOf ?? [body]).map((variant) => {
    const itemType = variant.properties?.['item_type']?.const
    const [example] = variant.examples ?? []
    return html`${typeof itemType === 'string' ? html`<p>For the item type <code>${itemType}</code>:</p>` : ''}
${example === undefined ? '' : html`<pre>${JSON.stringify(example, null, 2)}</pre>`}${fieldTable(variant)}`
  })}`
}

function responseRow(status: string, meaning: string, schema: JsonSchema | undefined): Html {
  const isProblem = schema?.$ref?.endsWith('/Problem') ?? false
  const text = isProblem ? linkedCodes(meaning) : prose(meaning)
  return html`<tr><td class="status ${status.startsWith('2') ? 'ok' : 'bad'}">${status}</td><td>${text}</td>
<td class="kind">${schema?.$ref ? html`<a href="#schema-${nameOf(schema.$ref)}">${nameOf(schema.$ref)}</a>` : ''}</td></tr>`
}

/** Problem codes in backticks lead to the table that explains them. */
function linkedCodes(meaning: string): Html {
  const parts = meaning.split(/`([a-z0-9_]+)`/)
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<a href="#${part}"><code>${part}</code></a>` : html`${part}`))}`
}

function curlExample({ method, path, requestBody, security }: Operation): string {
  const address = path.replace('{id}', '01890a5d-ac96-774b-bcce-b302099a8057')
  const lines = [`curl -sS ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"$WQ_URL${address}"`]
  if (security?.length !== 0) lines.push('-H "Authorization: Bearer $WQ_TOKEN"')
  if (path.includes('/webhooks/')) lines.push('-H "X-Gitlab-Token: $WEBHOOK_SECRET"')
  if (requestBody) lines.push("-H 'Content-Type: application/json'", '--data-binary @body.json')
  return lines.join(' \\\n  ')
}

function problemSection(): Html {
  return html`<section id="problems"><h2>Problems</h2>
<p>Every error has this one shape (RFC 9457). Programs switch on <code>code</code>, which never changes; all faults of a
submission come at once, as <code>findings</code> with JSON pointers.</p>
<pre>HTTP/1.1 422 Unprocessable Entity
content-type: application/problem+json

{
  "type": "/docs#submission_rejected",
  "title": "The submission was refused",
  "status": 422,
  "detail": "The submission was refused: \\"title\\" is required.",
  "code": "submission_rejected",
  "request_id": "6f1c…",
  "findings": [{ "code": "required", "path": "/title", "message": "\\"title\\" is required." }]
}</pre>
<div class="scroll"><table>
<thead><tr><th>Code</th><th>Status</th><th>What to do</th></tr></thead>
<tbody>${Object.entries(PROBLEMS).map(
    ([code, { status, title, help }]) => html`<tr id="${code}"><td><code>${code}</code></td>
<td class="status">${status}</td><td><strong>${title}.</strong> ${prose(help)}</td></tr>`,
  )}</tbody></table></div></section>`
}

function schemaArticle(name: string, schema: JsonSchema): Html {
  return html`<article id="schema-${name}"><header><h3>${name}</h3></header>
<div class="body">${fieldTable(schema)}</div></article>`
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
