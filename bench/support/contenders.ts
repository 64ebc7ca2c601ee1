/** All contenders by name, so that a process can be told which one to be. */
import type { Contender } from './contender.ts'
import { graphileWorker } from './graphile-worker.ts'
import { pgBoss } from './pg-boss.ts'
import { product } from './product.ts'

export function contenderNamed(name: string): Contender {
  const found = [product, graphileWorker, pgBoss].find((contender) => contender.name === name)
  if (found === undefined) throw new Error(`there is no contender ${name}`)
  return found
}
