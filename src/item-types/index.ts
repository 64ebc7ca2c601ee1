/**
 * The item types of this build: the one list. A new type is a folder beside `mr` and a line here; nothing else in the
 * service names an item type. Creating a type has no effect but the value.
 */
import type { Database } from '../db/database.ts'
import type { GitLab } from '../gitlab/port.ts'
import type { AnyItemType } from '../queue/item-type.ts'
import type { MrConfig } from './mr/config.ts'
import { createMrItemType } from './mr/index.ts'

/** What the types of this build need; a type's own slice of the configuration goes by its name. */
export interface ItemTypeDependencies {
  readonly db: Database
  readonly gitlab: GitLab
  readonly mr: MrConfig
}

export function createItemTypes({ db, gitlab, mr }: ItemTypeDependencies): readonly AnyItemType[] {
  return [createMrItemType({ db, gitlab, config: mr })]
}
