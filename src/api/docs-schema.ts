/**
 * A JSON Schema as a table for people: one row a field, the fields of nested objects below their parent as
 * `parent[].field`, shared schemas as links.
 */
import { z } from 'zod'
import { type Html, html, prose } from './html.ts'

export interface JsonSchema {
  readonly $ref?: string | undefined
  readonly type?: string | string[] | undefined
  readonly const?: unknown
  readonly enum?: readonly unknown[] | undefined
  readonly format?: string | undefined
  readonly description?: string | undefined
  readonly default?: unknown
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined
  readonly required?: readonly string[] | undefined
  readonly items?: JsonSchema | undefined
  readonly additionalProperties?: boolean | JsonSchema | undefined
  readonly anyOf?: readonly JsonSchema[] | undefined
  readonly oneOf?: readonly JsonSchema[] | undefined
  readonly examples?: readonly unknown[] | undefined
}

export const jsonSchema: z.ZodType<JsonSchema> = z.lazy(() =>
  z.looseObject({
    $ref: z.string().optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    const: z.unknown().optional(),
    enum: z.array(z.unknown()).optional(),
    format: z.string().optional(),
    description: z.string().optional(),
    default: z.unknown().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    properties: z.record(z.string(), jsonSchema).optional(),
    required: z.array(z.string()).optional(),
    items: jsonSchema.optional(),
    additionalProperties: z.union([z.boolean(), jsonSchema]).optional(),
    anyOf: z.array(jsonSchema).optional(),
    oneOf: z.array(jsonSchema).optional(),
    examples: z.array(z.unknown()).optional(),
  }),
)

export function fieldTable(schema: JsonSchema): Html {
  const rows = fieldsOf(schema, '')
  if (rows.length === 0) return html`<p>${kindOf(schema)}</p>`
  return html`<div class="scroll"><table>
<thead><tr><th>Field</th><th>Type</th><th>Meaning</th></tr></thead>
<tbody>${rows}</tbody></table></div>`
}

export function fieldRow(name: string, schema: JsonSchema, isRequired: boolean): Html {
  const { description = '' } = schema
  return html`<tr><td><code>${name}</code>${isRequired ? html` <span class="required">required</span>` : ''}</td>
<td class="kind">${kindOf(schema)}</td><td>${prose(description)} ${boundsOf(schema)}</td></tr>`
}

function fieldsOf(schema: JsonSchema, prefix: string): Html[] {
  const rows: Html[] = []
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    rows.push(fieldRow(`${prefix}${name}`, field, schema.required?.includes(name) ?? false))
    const { inner, suffix } = innermost(field)
    const below = `${prefix}${name}${suffix}.`
    const variants = inner.oneOf ?? inner.anyOf
    rows.push(...(variants === undefined ? fieldsOf(inner, below) : fieldsOfVariants(variants, below)))
  }
  return rows
}

/** Shapes that are told apart by a constant share most fields: one row a field, which says where it does not apply. */
function fieldsOfVariants(variants: readonly JsonSchema[], prefix: string): Html[] {
  const names = [...new Set(variants.flatMap((variant) => Object.keys(variant.properties ?? {})))]
  return names.map((name) => {
    const having = variants.filter((variant) => variant.properties?.[name] !== undefined)
    const fields = having.flatMap((variant) => variant.properties?.[name] ?? [])
    const isRequired = having.every((variant) => variant.required?.includes(name))
    const [only] = distinct(fields.map(kindOf)).length === 1 ? fields : []
    const labels = having.length === variants.length ? [] : having.flatMap(labelOf)
    const description = [
      fields.find((field) => field.description)?.description ?? '',
      labels.length === 0 ? '' : `Only with ${labels.join(', ')}.`,
    ].join(' ')
    return fieldRow(`${prefix}${name}`, { ...(only ?? { anyOf: fields }), description: description.trim() }, isRequired)
  })
}

/** What tells this shape from its neighbours: `create` of `action: "create"`. */
function labelOf(variant: JsonSchema): string[] {
  const constants = Object.values(variant.properties ?? {}).filter((field) => typeof field.const === 'string')
  return constants.map((field) => `\`${String(field.const)}\``)
}

/** Through arrays and "or null" to the object inside. */
function innermost(schema: JsonSchema): { readonly inner: JsonSchema; readonly suffix: string } {
  if (schema.items) {
    const { inner, suffix } = innermost(schema.items)
    return { inner, suffix: `[]${suffix}` }
  }
  const choices = (schema.anyOf ?? []).filter((choice) => choice.type !== 'null')
  const [only] = choices
  return choices.length === 1 && only ? innermost(only) : { inner: schema, suffix: '' }
}

function kindOf(schema: JsonSchema): Html {
  if (schema.$ref) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum) return joined(schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`))
  if (schema.items) return html`array of ${kindOf(schema.items)}`
  const choices = schema.oneOf ?? schema.anyOf
  if (choices) return joined(distinct(choices.map(kindOf)))
  const type = [schema.type ?? 'any'].flat().join(' or ')
  return html`${type}${schema.format ? ` (${schema.format})` : ''}`
}

function joined(kinds: readonly Html[]): Html {
  return html`${kinds.map((kind, index) => (index === 0 ? kind : html` or ${kind}`))}`
}

function distinct(kinds: readonly Html[]): readonly Html[] {
  return [...new Map(kinds.map((kind) => [kind.text, kind])).values()]
}

/** Integers are bounded by what a double holds exactly; that goes without saying. */
const MAX_SAFE = Number.MAX_SAFE_INTEGER

function boundsOf({ minimum, maximum, minLength, maxLength, default: byDefault }: JsonSchema): Html {
  const bounds = [
    minimum !== undefined && minimum > -MAX_SAFE ? `at least ${minimum}` : '',
    maximum !== undefined && maximum < MAX_SAFE ? `at most ${maximum}` : '',
    minLength !== undefined && minLength > 1 ? `at least ${minLength} characters` : '',
    maxLength !== undefined ? `at most ${maxLength} characters` : '',
    byDefault === undefined ? '' : `default ${JSON.stringify(byDefault)}`,
  ].filter((bound) => bound !== '')
  return bounds.length === 0 ? html`` : html`<span class="soft">(${bounds.join(', ')})</span>`
}
