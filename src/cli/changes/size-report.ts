/** How large a submission is, for whoever sends it: on standard error, before anything is sent. */
import { MAX_SUBMISSION_BYTES } from '../../contract/requests.ts'
import { WorkQueueError } from '../../lib/errors.ts'
import { type FileChange, quoted } from './file-change.ts'

export interface SizeReport {
  readonly files: number
  readonly by_action: Readonly<Record<string, number>>
  /** Of content, before it is encoded. */
  readonly bytes: number
  readonly largest: readonly { readonly path: string; readonly bytes: number }[]
}

const MAX_LARGEST = 3
const ACTIONS = ['upsert', 'move', 'chmod', 'delete'] as const satisfies readonly FileChange['action'][]

export function measure(changes: readonly FileChange[]): SizeReport {
  const counts = ACTIONS.map((name): [string, number] => [name, changes.filter(({ action }) => action === name).length])
  const sized = changes.flatMap((change) =>
    'bytes' in change ? [{ path: change.file_path, bytes: change.bytes }] : [],
  )
  return {
    files: changes.length,
    by_action: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    bytes: sized.reduce((sum, { bytes }) => sum + bytes, 0),
    largest: sized.toSorted((left, right) => right.bytes - left.bytes).slice(0, MAX_LARGEST),
  }
}

/** `main..HEAD: 12 files (8 upsert, 3 delete, 1 move), 34.5 KiB; largest "a.md" 20 KiB`. */
export function sizeText(what: string, { files, by_action, bytes, largest }: SizeReport): string {
  const kinds = Object.entries(by_action).map(([action, count]) => `${count} ${action}`)
  const named = largest.map(({ path, bytes: size }) => `${quoted(path)} ${byteText(size)}`)
  const most = named.length > 1 ? `; largest ${named.join(', ')}` : ''
  return `${what}: ${files} ${files === 1 ? 'file' : 'files'} (${kinds.join(', ')}), ${byteText(bytes)}${most}`
}

/** Contents only grow on their way into JSON: what is too large now need not be read. */
export function refuseLargeContents({ bytes }: SizeReport): void {
  if (bytes <= MAX_SUBMISSION_BYTES) return
  throw new WorkQueueError(
    'payload_too_large',
    `The files have ${byteText(bytes)}, and the service takes ${byteText(MAX_SUBMISSION_BYTES)} as JSON. Split the ` +
      'change into several submissions, each with a source branch of its own, or leave out the largest files.',
  )
}

export function byteText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`
  const [size, unit] = bytes < 1_024 * 1_024 ? [bytes / 1_024, 'KiB'] : [bytes / 1_024 / 1_024, 'MiB']
  return `${Number(size.toFixed(1))} ${unit}`
}
