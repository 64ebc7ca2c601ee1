/** The program's log: JSON lines through pino, on standard output or in a file. */
import pino from 'pino'
import type { Log } from '../lib/log.ts'

/** `file`: local mode keeps its terminal readable and logs there. */
export function createLog(level: string, file?: string): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }
  const destination = pino.destination({ dest: file ?? 1, sync: true, mkdir: true, mode: 0o600 })
  return pino(options, destination)
}
