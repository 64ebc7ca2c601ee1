/**
 * Runs something until SIGINT or SIGTERM, then stops it once. A second signal ends the process at once: somebody is in a
 * hurry, and everything survives a kill.
 */
export async function runUntilSignal(stop: () => Promise<void>): Promise<void> {
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, resolve)
  })
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => process.exit(signal === 'SIGINT' ? 130 : 143))
  await stop()
}
