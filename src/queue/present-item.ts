/** How an item presents itself, with what the queue itself knows of why it waits: a pause comes before all else. */
import type { AnyItemType, Blocker, Presentation, Snapshot } from './item-type.ts'
import type { Pause } from './pause.ts'
import type { WorkItem } from './work-item.ts'

export function presentItem(
  type: AnyItemType,
  snapshot: Snapshot<unknown>,
  findPause: (item: WorkItem) => Pause | null,
): Presentation {
  const presentation = type.present(snapshot)
  const pause = snapshot.item.phase === 'active' ? findPause(snapshot.item) : null
  if (pause === null) return presentation
  return { ...presentation, blockers: [toBlocker(pause), ...presentation.blockers] }
}

function toBlocker({ reason, createdBy, createdAt }: Pause): Blocker {
  return {
    code: 'paused',
    message: `An operator (${createdBy}) has paused it: ${reason}`,
    since: createdAt,
    clearedBy: 'an operator',
  }
}
