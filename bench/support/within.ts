/** Nothing here waits for ever: a goal that hangs is reported as one that could not be measured. */
export async function within<T>(milliseconds: number, promise: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} within ${milliseconds / 1_000} s`)), milliseconds)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
