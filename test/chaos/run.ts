/**
 * `npm run chaos [-- R1 R5 … --seed 7 --scale 2]`: runs the named goals, or all of them, one after the other, and prints one
 * JSON line each. Ends with 1 when a goal was missed.
 */
import { parseArgs } from 'node:util'
import { badItems } from './bad-items.ts'
import { durability } from './durability.ts'
import { events } from './events.ts'
import { hotItems } from './hot-items.ts'
import { migrations } from './migrations.ts'
import { pooler } from './pooler.ts'
import { recovery } from './recovery.ts'
import { schedules } from './schedules.ts'
import { services } from './services.ts'
import { shutdown } from './shutdown.ts'
import { simultaneous } from './simultaneous.ts'
import type { ChaosOptions, Verdict } from './support/verdict.ts'
import { takeover } from './takeover.ts'
import { zombie } from './zombie.ts'

const GOALS: Readonly<Record<string, (options: ChaosOptions) => Promise<Verdict>>> = {
  R1: takeover,
  R2: schedules,
  R3: zombie,
  R5: durability,
  R6: recovery,
  R7: simultaneous,
  R8: pooler,
  R9: shutdown,
  R10: hotItems,
  R11: migrations,
  R12: badItems,
  services,
  events,
}

// Whatever a script has started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, scale: { type: 'string', default: '1' } },
})
const options = { seed: Number(values.seed ?? Date.now() % 1_000_000), scale: Number(values.scale) }

for (const goal of positionals.length > 0 ? positionals : Object.keys(GOALS)) {
  const verdict = await run(goal)
  process.stdout.write(`${JSON.stringify({ ...verdict, seed: options.seed })}\n`)
  if (!verdict.ok) process.exitCode = 1
}

async function run(goal: string): Promise<Verdict> {
  const script = GOALS[goal]
  if (script === undefined) throw new Error(`there is no goal ${goal}; there are ${Object.keys(GOALS).join(', ')}`)
  try {
    return await script(options)
  } catch (error) {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { goal, figure: 'none', target: 'the script comes to its end', ok: false, error: why }
  }
}
