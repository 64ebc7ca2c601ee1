/** One type's detail table, written and read by the same pieces of SQL as the queue's statements. */
import { CompiledQuery } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../../src/db/database.ts'
import type { DetailTable } from '../../src/queue/detail-table.ts'
import type { AnyItemType } from '../../src/queue/item-type.ts'
import { createCreateWorkItems } from '../../src/queue/sql/create-work-items.ts'
import { updateDetails } from '../../src/queue/sql/detail-sql.ts'
import { createReadObservations } from '../../src/queue/sql/read-observations.ts'
import { createReplaceDetail } from '../../src/queue/sql/replace-detail.ts'

export interface Details<Submission, Detail> {
  /** A new item with this detail; its id. */
  insert(submission: Submission): Promise<string>
  update(id: string, submission: Submission): Promise<void>
  save(id: string, detail: Detail): Promise<void>
  read(id: string): Promise<Detail>
}

export function createDetails<Submission, Detail>(
  db: Database,
  itemType: string,
  details: DetailTable<Submission, Detail>,
): Details<Submission, Detail> {
  const itemTypes = new Map([[itemType, { name: itemType, details } as unknown as AnyItemType]])
  const create = createCreateWorkItems(db, itemTypes)
  const replace = createReplaceDetail(itemTypes)
  const read = createReadObservations(db, itemTypes)
  return {
    async insert(submission) {
      const id = uuidv7()
      const item = { id, itemType, dedupKey: id, contentHash: 'x', concurrencyKey: null, callerIdentity: 'tester' }
      const detail = JSON.stringify(details.fromSubmission(submission))
      await create([{ ...item, detail, claimed: false }], { leaseMs: 1_000, notify: false })
      return id
    },
    update: (id, submission) =>
      db.transaction().execute((tx) => replace(tx, id, itemType, JSON.stringify(details.fromSubmission(submission)))),
    async save(id, detail) {
      const text = `
        with source as (select $1::uuid as id, $2::text as item_type, $3::jsonb as detail)
        ${updateDetails(itemTypes, 'source', 'observed')}
        select id from source`
      await db.executeQuery(CompiledQuery.raw(text, [id, itemType, JSON.stringify(details.fromDetail(detail))]))
    },
    async read(id) {
      const observation = (await read([id])).get(id)
      if (observation === undefined) throw new Error(`there is no work item ${id}`)
      if (observation.unreadable !== null) throw new Error(observation.unreadable)
      return observation.snapshot.detail as Detail
    },
  }
}
