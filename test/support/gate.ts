/** A gate for tests: somebody waits at it, the test sees that they have arrived, and lets them through. */
export interface Gate {
  /** Called by whoever is to be held up. */
  pass(): Promise<void>
  /** Resolves once somebody has arrived. */
  readonly arrived: Promise<void>
  open(): void
}

export function createGate(): Gate {
  const arrival = Promise.withResolvers<void>()
  const opening = Promise.withResolvers<void>()
  return {
    async pass() {
      arrival.resolve()
      await opening.promise
    },
    arrived: arrival.promise,
    open: () => opening.resolve(),
  }
}
