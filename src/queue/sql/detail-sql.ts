/**
 * The pieces of statements that concern detail tables, written from what each type says about its own. All of it is text
 * that is put together once, when the process starts: names come from the program, values only ever through parameters.
 */
import type { AnyItemType } from '../item-type.ts'

export type ItemTypes = ReadonlyMap<string, AnyItemType>

/** A scalar subquery or expression: the readable part of the detail of the row called `item`, as JSON. */
export function selectDetail(itemTypes: ItemTypes, item: string): string {
  const cases = [...itemTypes.values()].map(
    ({ name, details }) =>
      `when ${literal(name)} then (
        select row_to_json(detail_row)
        from (select ${columnList(readable(details))} from ${identifier(details.table)} where work_item_id = ${item}.id) detail_row
      )`,
  )
  return cases.length === 0 ? 'null::json' : `case ${item}.item_type ${cases.join(' ')} end`
}

/** CTEs `, inserted_0 as (…)`: one detail row for each row of `source (id, item_type, detail)`. */
export function insertDetails(itemTypes: ItemTypes, source: string): string {
  return each(itemTypes, ({ name, details }, index) => {
    const table = identifier(details.table)
    const pairs = readable(details).map((column) => `'${column}', ${table}.${identifier(column)}`)
    return `, inserted_${index} as (
      insert into ${table} (work_item_id, ${columnList(details.submitted)})
      select source.id, ${columnList(details.submitted, 'given')}
      from ${source} source, jsonb_populate_record(null::${table}, source.detail) given
      where source.item_type = ${literal(name)}
      returning work_item_id, json_build_object(${pairs}) as detail
    )`
  })
}

/** CTEs `, saved_0 as (…)`: rewrites these columns for each row of `source (id, item_type, detail)` whose detail is not null. */
export function updateDetails(itemTypes: ItemTypes, source: string, columns: 'submitted' | 'observed'): string {
  return each(itemTypes, ({ name, details }, index) => {
    if (details[columns].length === 0) return ''
    const table = identifier(details.table)
    const assignments = details[columns].map((column) => `${identifier(column)} = given.${identifier(column)}`)
    return `, saved_${index} as (
      update ${table}
      set ${assignments.join(', ')}
      from ${source} source, jsonb_populate_record(null::${table}, source.detail) given
      where ${table}.work_item_id = source.id
        and source.item_type = ${literal(name)}
        and source.detail is not null
    )`
  })
}

/** A relation `(work_item_id, detail)` of what `insertDetails` has inserted. */
export function insertedDetails(itemTypes: ItemTypes): string {
  const parts = [...itemTypes.keys()].map((_, index) => `select work_item_id, detail from inserted_${index}`)
  return parts.length === 0 ? 'select null::uuid as work_item_id, null::json as detail' : parts.join(' union all ')
}

function each(itemTypes: ItemTypes, write: (type: AnyItemType, index: number) => string): string {
  return [...itemTypes.values()].map(write).join('')
}

function readable({ submitted, observed, unread = [] }: AnyItemType['details']): readonly string[] {
  return [...submitted.filter((column) => !unread.includes(column)), ...observed]
}

function columnList(columns: readonly string[], table?: string): string {
  return columns
    .map((column) => (table === undefined ? identifier(column) : `${table}.${identifier(column)}`))
    .join(', ')
}

const NAME = /^[a-z][a-z0-9_]*$/

/** Names are ours and plain; anything else is a defect, and must not become SQL. */
function identifier(name: string): string {
  if (!NAME.test(name)) throw new Error(`${JSON.stringify(name)} cannot name a table or column`)
  return `"${name}"`
}

function literal(name: string): string {
  if (!NAME.test(name)) throw new Error(`${JSON.stringify(name)} cannot name an item type`)
  return `'${name}'`
}
