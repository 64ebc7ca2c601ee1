/** A database whose answers to some statements get lost on the way: they are carried out, and their sender hears of a broken connection. */
import type { Database } from '../../src/db/database.ts'

export function loseAnswers(db: Database, matches: (text: string) => boolean, times: number): Database {
  let left = times
  return new Proxy(db, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (property !== 'executeQuery') return typeof value === 'function' ? value.bind(target) : value
      return async (query: Parameters<Database['executeQuery']>[0]) => {
        const result = await target.executeQuery(query)
        const text = 'sql' in query ? String(query.sql) : ''
        if (left === 0 || !matches(text)) return result
        left -= 1
        throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
      }
    },
  })
}
