/**
 * Times in which nothing is merged: once, between two instants, or each week between two days and times of a time zone.
 * Pure; the clock is the caller's.
 */
import { z } from 'zod'

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const WEEKLY = /^(sun|mon|tue|wed|thu|fri|sat) ([01]\d|2[0-3]):([0-5]\d)$/
const MINUTES_OF_A_DAY = 24 * 60

const EXPECTED =
  'expected a time such as "fri 16:00", or an instant such as 2027-12-20T00:00:00Z; both ends of one kind'

/** Minutes since Sunday 00:00; null when the text is no day and time. */
function minuteOfWeek(text: string): number | null {
  const match = WEEKLY.exec(text)
  if (match === null) return null
  const [, day, hours, minutes] = match
  return DAYS.indexOf(day as (typeof DAYS)[number]) * MINUTES_OF_A_DAY + Number(hours) * 60 + Number(minutes)
}

const INSTANT = z.iso.datetime({ offset: true })

export const freezeSchema = z
  .strictObject({
    from: z.string(),
    to: z.string(),
    /** Of days and times; instants carry their own. */
    time_zone: z
      .string()
      .refine(isTimeZone, { error: 'expected the name of a time zone, such as Europe/Prague' })
      .prefault('UTC'),
    /** Shown to whoever waits. */
    reason: z.string().min(1).max(200).optional(),
  })
  .superRefine(({ from, to }, context) => {
    const weekly = [from, to].filter((text) => minuteOfWeek(text) !== null).length
    const instants = [from, to].filter((text) => INSTANT.safeParse(text).success).length
    if (weekly !== 2 && instants !== 2) context.addIssue({ code: 'custom', message: EXPECTED })
    else if (instants === 2 ? Date.parse(from) >= Date.parse(to) : from === to) {
      context.addIssue({ code: 'custom', path: ['to'], message: 'expected a time after from' })
    }
  })

export type FreezeWindow = z.infer<typeof freezeSchema>

/** The first window that holds at this instant; null when merging is free. */
export function activeFreeze(windows: readonly FreezeWindow[], now: Date): FreezeWindow | null {
  return windows.find((window) => isWithin(window, now)) ?? null
}

function isWithin({ from, to, time_zone }: FreezeWindow, now: Date): boolean {
  const [start, end] = [minuteOfWeek(from), minuteOfWeek(to)]
  if (start === null || end === null) return Date.parse(from) <= now.getTime() && now.getTime() < Date.parse(to)
  const minute = localMinuteOfWeek(now, time_zone)
  // A window that ends on an earlier day than it begins runs over the end of the week.
  return start < end ? start <= minute && minute < end : start <= minute || minute < end
}

function localMinuteOfWeek(now: Date, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]))
  return minuteOfWeek(`${parts.get('weekday')?.toLowerCase()} ${parts.get('hour')}:${parts.get('minute')}`) ?? 0
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}
