/**
 * Bugs to be found: each takes one safeguard out of the statements, as a wrong hand might. An explorer that does not find
 * them proves nothing with what it does not find.
 */
import type { SCENARIOS } from './scenarios.ts'

export interface PlantedBug {
  readonly title: string
  readonly scenario: keyof typeof SCENARIOS
  readonly fault: string
  readonly rewrite: (text: string) => string
}

const COMPARES_WAKE_COUNT = 'and item.wake_count = input.wake_count'

const ONLY_THE_VERSION_SEEN = 'and work_items.xmin = seen_version'

const LOST = 'an event is pending, and the item neither actionable nor leased'

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    title: 'an exit that does not compare the wake count',
    scenario: 'pair',
    fault: LOST,
    rewrite: (text) => text.replaceAll(COMPARES_WAKE_COUNT, ''),
  },
  {
    title: 'an exit that looks for events itself, in its own statement',
    scenario: 'pair',
    fault: LOST,
    rewrite: (text) =>
      text.replaceAll(
        COMPARES_WAKE_COUNT,
        'and not exists (select from pending_events waiting where waiting.work_item_id = item.id and not dead)',
      ),
  },
  {
    title: 'a claim that answers with the wake count of newest row',
    scenario: 'pair',
    fault: LOST,
    rewrite: (text) =>
      text
        .replace('returning work_items.id, work_items.lease_epoch', '$&, work_items.wake_count, work_items.revision')
        .replace('claimed.lease_epoch as epoch', '$&, claimed.wake_count, claimed.revision')
        .replace(ONLY_THE_VERSION_SEEN, ''),
  },
  {
    title: 'a claim of a newer row than the one it reads',
    scenario: 'reduced',
    fault: 'event-1 was applied 2 times',
    rewrite: (text) => text.replace(ONLY_THE_VERSION_SEEN, ''),
  },
  {
    title: 'outcomes that do not compare the epoch',
    scenario: 'workers',
    fault: "worker-1 has written although its lease is another's",
    rewrite: (text) => text.replaceAll('item.lease_epoch = input.epoch', 'true'),
  },
  {
    title: 'a claim that clears actionable before the events are drained',
    scenario: 'pair',
    fault: LOST,
    rewrite: (text) => text.replace(/(lease_epoch = lease_epoch \+ 1,\s+actionable = )true/, '$1false'),
  },
  {
    title: 'an event that does not add to the wake count',
    scenario: 'pair',
    fault: LOST,
    rewrite: (text) => text.replace('wake_count = item.wake_count + 1', 'wake_count = item.wake_count'),
  },
]
