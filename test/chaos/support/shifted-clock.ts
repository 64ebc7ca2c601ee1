/** Preloaded (`--import`) into a process whose clock is to be wrong by CHAOS_CLOCK_SHIFT_MS; timers are not affected. */
const shiftMs = Number(process.env['CHAOS_CLOCK_SHIFT_MS'] ?? 0)
const RealDate = Date
const wrongNow = () => RealDate.now() + shiftMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [wrongNow()] : args, newTarget),
  apply: () => new RealDate(wrongNow()).toString(),
  get: (target, key, receiver) => (key === 'now' ? wrongNow : Reflect.get(target, key, receiver)),
})
