/** The few statistics that a benchmark on a shared machine needs: medians of interleaved rounds, and percentiles. */

/** Of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const half = (sorted.length - 1) / 2
  return ((sorted[Math.floor(half)] ?? Number.NaN) + (sorted[Math.ceil(half)] ?? Number.NaN)) / 2
}

/** The smallest value that `share` of all values do not exceed; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** Three significant digits behind the point for small numbers, none for large ones. */
export function rounded(value: number): number {
  if (!Number.isFinite(value)) return value
  return Number(Math.abs(value) >= 1_000 ? value.toFixed(0) : value.toPrecision(4))
}

/**
 * Runs every contestant once a round, in alternating order, so that what else the machine is doing falls on all of them
 * alike. Answers what each measured, round by round.
 */
export async function interleave<Name extends string, Value>(
  rounds: number,
  contestants: Readonly<Record<Name, () => Promise<Value>>>,
): Promise<Record<Name, Value[]>> {
  const names = Object.keys(contestants) as Name[]
  const values = Object.fromEntries(names.map((name) => [name, [] as Value[]])) as Record<Name, Value[]>
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) values[name].push(await contestants[name]())
  }
  return values
}

/** Milliseconds of the machine's monotonic clock, comparable between processes. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Calls `work` `count` times, `concurrency` at a time; answers the calls a second. */
export async function rateOf(count: number, concurrency: number, work: () => Promise<unknown>): Promise<number> {
  let begun = 0
  const startedAt = performance.now()
  const lane = async () => {
    while (begun < count) {
      begun += 1
      await work()
    }
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  return (count * 1_000) / (performance.now() - startedAt)
}
