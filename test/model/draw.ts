/** How often what is drawn: more ends than beginnings, so that errands come to rest and have something to be woken from. */
import fc from 'fast-check'
import {
  cancel,
  change,
  type Delivery,
  endStep,
  expireLease,
  heartbeat,
  hold,
  ingest,
  interrupt,
  type ModelCommand,
  passTime,
  passWaits,
  retry,
  rouse,
  submit,
} from './commands.ts'
import { EVENTS_AT_A_TIME } from './item.ts'
import type { Fate } from './model.ts'
import { crash, crashAll, outage, startProcess, stopProcess, sweep, takeOver } from './process-commands.ts'
import { ENDINGS, type Ending } from './work.ts'

/** One of them has most of the troubles. */
const NAMES = ['ann', 'ann', 'ann', 'bob'] as const
const TEXTS = ['one', 'two'] as const

const which = fc.nat({ max: 5 })
const delivery: fc.Arbitrary<Delivery> = fc.record({
  name: fc.constantFrom(...NAMES),
  kind: fc.constantFrom('ping', 'ping', 'quiet', 'quiet', 'quiet', 'quiet', 'poison', 'done', 'closed'),
  variant: fc.constantFrom('', 'a', 'b'),
  time: fc.constantFrom<Delivery['time'][]>(1, 1, 2, 2, 'soon', 'far ahead'),
  source: fc.constantFrom('its own', 'its own', 'none', 'first', 'second'),
})
const ending = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Ending>('succeed') },
  { weight: 2, arbitrary: fc.constantFrom<Ending[]>('fail', 'transient') },
  { weight: 8, arbitrary: fc.constantFrom(...ENDINGS) },
)
const fate = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Fate>('lives') },
  { weight: 2, arbitrary: fc.constant<Fate>('dies') },
  { weight: 1, arbitrary: fc.constant<Fate>('loses the answer') },
)

const submissions = fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...TEXTS), which).map((args) => submit(...args))
const deliveries = fc.tuple(delivery, which).map((args) => ingest(...args))
const interruptions = fc.tuple(fc.constantFrom(1, 1, 1, EVENTS_AT_A_TIME + 1), which).map((args) => interrupt(...args))
const ends = fc.tuple(ending, fate, which).map((args) => endStep(...args))
const stops = fc.tuple(ending, which).map((args) => stopProcess(...args))
const holds = fc.tuple(fc.constantFrom('exits', 'events'), fc.boolean()).map((args) => hold(...args))

/** Each as often as it stands here. */
const repeated = <T>(times: number, arbitrary: fc.Arbitrary<T>) => Array.from({ length: times }, () => arbitrary)
const drawn: readonly fc.Arbitrary<ModelCommand>[] = [
  ...repeated(4, submissions),
  ...repeated(3, which.map(change)),
  ...repeated(5, deliveries),
  ...repeated(14, ends),
  which.map(retry),
  which.map(cancel),
  ...repeated(3, which.map(sweep)),
  which.map(expireLease),
  ...repeated(2, which.map(takeOver)),
  ...repeated(2, which.map(heartbeat)),
  ...repeated(3, fc.boolean().map(startProcess)),
  stops,
  which.map(crash),
  which.map(crashAll),
  holds,
  which.map(passWaits),
  ...repeated(3, interruptions),
  ...repeated(5, which.map(rouse)),
  which.map(outage),
  fc.constant(passTime()),
]

export const commands: fc.Arbitrary<Iterable<ModelCommand>> = fc.commands([...drawn], { maxCommands: 80, size: 'max' })
