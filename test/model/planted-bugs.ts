/**
 * Bugs that could be in the queue's statements, each a change of their text on its way to the database. They keep the model
 * honest: a promise whose breach it does not notice is not tested by it.
 */
export interface PlantedBug {
  /** Statements that contain all of these. */
  readonly where: readonly string[]
  readonly replace: RegExp
  readonly by: string
}

const SUCCESS = ['held as materialized', 'rests boolean']
const FAILURE = ['held as materialized', 'retry_in_ms double precision']
const EVENT = ['held as materialized', 'delete from pending_events']
const REST = ['held as materialized', 'input.wake_count', 'set actionable = false']
const STORE = ['insert into pending_events']
const CLAIM = ['claimed as (']
const CALLER = ["set phase = 'active'"]
const OUTCOME = ['held as materialized', 'input.revision']

export const PLANTED_BUGS = {
  'the fence is missing': { where: OUTCOME, replace: /item\.lease_epoch = input\.epoch/g, by: 'true' },
  'the heartbeat is not fenced': {
    ...{ where: ['extended as ('], replace: /item\.lease_epoch = input\.epoch/g, by: 'true' },
  },
  'a lease that is held can be claimed': { where: CLAIM, replace: /or leased_until < now\(\)/g, by: 'or true' },
  'a lease that ran out stays with its holder': { where: CLAIM, replace: /or leased_until < now\(\)/g, by: 'or false' },
  'a claim leaves the epoch as it is': {
    where: CLAIM,
    replace: /lease_epoch = lease_epoch \+ 1/g,
    by: 'lease_epoch = lease_epoch',
  },
  'a claim clears actionable': { where: CLAIM, replace: /actionable = true/g, by: 'actionable = false' },
  'the exit does not compare the revision': { where: REST, replace: /item\.revision = input\.revision/g, by: 'true' },
  'the exit does not compare the wake count': {
    where: REST,
    replace: /item\.wake_count = input\.wake_count/g,
    by: 'true',
  },
  'a claim that led to nothing is not counted': {
    ...{ where: CLAIM, replace: /unfinished_claims \+ 1/g, by: 'unfinished_claims' },
  },
  'a success rests although a caller has written': {
    ...{ where: SUCCESS, replace: /input\.rests and item\.revision = input\.revision/g, by: 'input.rests' },
  },
  'a success rests although an event has come': {
    ...{ where: SUCCESS, replace: /and item\.wake_count = input\.wake_count/g, by: '' },
  },
  'a success ends an item that a caller has changed': {
    ...{
      where: SUCCESS,
      replace: /input\.phase <> 'active' and item\.revision = input\.revision/g,
      by: "input.phase <> 'active'",
    },
  },
  'an event ends an item that a caller has changed': {
    ...{ where: EVENT, replace: /and item\.revision = input\.revision/g, by: '' },
  },
  'a failure counts against what a caller has sent since': {
    ...{ where: FAILURE, replace: /item\.revision = input\.revision/g, by: 'true' },
  },
  'attempts are not reset by a success': { where: SUCCESS, replace: /\battempts = 0/g, by: 'attempts = item.attempts' },
  'a transient failure spends an attempt': { where: FAILURE, replace: /and not input\.transient/g, by: '' },
  'an outage never lasts too long': {
    where: FAILURE,
    replace: /coalesce\(item\.failing_since, now\(\)\)/g,
    by: 'now()',
  },
  'a failure sets no next try': {
    where: FAILURE,
    replace: /retry_at = case/g,
    by: 'retry_at = case when true then null',
  },
  'an equal time counts as stale': {
    where: EVENT,
    replace: /input\.event_at < item\.last_event_at/g,
    by: 'input.event_at <= item.last_event_at',
  },
  'a late event ends the item': { where: EVENT, replace: /input\.event_at < item\.last_event_at/g, by: 'false' },
  'a late event sets the time back': {
    where: EVENT,
    replace: /greatest\(item\.last_event_at, input\.event_at\)/g,
    by: 'input.event_at',
  },
  'a time far ahead is taken as it is': { where: STORE, replace: /mins => \d+/g, by: 'years => 10' },
  'an event is applied twice': { where: EVENT, replace: /pending_events\.id = recorded\.event_id/g, by: 'false' },
  'an event dies a failure later': { where: ['update pending_events', 'attempts + 1 >='], replace: />=/g, by: '>' },
  'an ended item accepts an event': {
    where: STORE,
    replace: /item\.(phase = 'active'|resolution is null)/g,
    by: 'true',
  },
  'an event wakes nobody': { where: STORE, replace: /set actionable = true/g, by: 'set actionable = item.actionable' },
  'an event is not counted': { where: STORE, replace: /item\.wake_count \+ 1/g, by: 'item.wake_count' },
  'a caller is not counted': { where: CALLER, replace: /revision \+ 1/g, by: 'revision' },
  'a caller does not lift the backoff': { where: CALLER, replace: /retry_at = null/g, by: 'retry_at = retry_at' },
  'an action settles what a caller has asked for since': {
    ...{ where: OUTCOME, replace: /work_item_statuses\.revision <= excluded\.revision/g, by: 'true' },
  },
} as const satisfies Readonly<Record<string, PlantedBug>>

export type BugName = keyof typeof PLANTED_BUGS
export const BUG_NAMES = Object.keys(PLANTED_BUGS) as BugName[]

export interface Planted {
  rewrite(text: string): string
  /** How many statements it has changed: none means that the queue is written differently now. */
  count(): number
}

export function plant(name: BugName | null): Planted {
  const bug: PlantedBug | null = name === null ? null : PLANTED_BUGS[name]
  let changed = 0
  return {
    count: () => changed,
    rewrite(text) {
      if (bug === null || !bug.where.every((part) => text.includes(part))) return text
      const planted = text.replace(bug.replace, bug.by)
      if (planted !== text) changed += 1
      return planted
    },
  }
}
