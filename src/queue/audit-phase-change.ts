import type { Audit } from '../audit/entry.ts'
import type { Phase } from './work-item.ts'

/** The entry everybody looks for: an item has ended, or lives again, and why. */
export function recordPhaseChange(
  audit: Audit,
  item: { readonly id: string; readonly itemType: string; readonly phase: Phase },
  phase: Phase,
  resolution: string,
): void {
  audit.record({
    event_type: 'phase_change',
    work_item_id: item.id,
    item_type: item.itemType,
    phase_from: item.phase,
    phase_to: phase,
    resolution,
  })
}
