/**
 * What an item waits for, since when, and who can clear it, in words: the same for the API, the CLI, the pages and the note
 * on the merge request. Pure, from what the last look recorded (merge-gate.ts). An active item has at least one.
 */
import { type Dimension, isActionable } from '../../queue/dimension.ts'
import type { Blocker, Snapshot } from '../../queue/item-type.ts'
import { type Builds, describeBuild } from './builds.ts'
import type { MrDetail } from './detail.ts'
import { NEEDS_MR } from './dimensions.ts'

export function findBlockers({ item, detail, dimensions, now }: Snapshot<MrDetail>): readonly Blocker[] {
  if (item.phase === 'failed' && item.lastError !== null) {
    const { code, message, at } = item.lastError
    return [{ code, message, since: new Date(at), clearedBy: 'the caller, with a retry or a changed submission' }]
  }
  if (item.phase !== 'active') return []
  const waits =
    detail.builds === null
      ? [{ since: item.updatedAt, ...waitOf(detail, dimensions, now) }, ...failedJobsOf(detail)]
      : waitsOfBuilds(detail.builds)
  if (item.lastError === null) return waits
  const { code, message, at } = item.lastError
  return [{ code, message: `${message}; it is tried again`, since: new Date(at), clearedBy: 'the service' }, ...waits]
}

/** What it waits for by itself: to be written, or what the last look has found. */
function waitOf(detail: MrDetail, dimensions: readonly Dimension[], now: Date): Omit<Blocker, 'since'> | Blocker {
  const writes = dimensions.find(({ dimension }) => dimension === NEEDS_MR)
  if (detail.mrIid === null || writes === undefined || isActionable(writes, now)) {
    const message = 'the service is about to write the branch and its merge request'
    return { code: 'writing', message, clearedBy: 'the service' }
  }
  if (detail.waitsFor === null) {
    const message = 'the service is about to look at the merge request'
    return { code: 'looking', message, clearedBy: 'the service' }
  }
  const { since, ...wait } = detail.waitsFor
  return { ...wait, since: new Date(since) }
}

/** Beside what it waits for first: its pipeline has failed, too. */
function failedJobsOf({ ciFinding, waitsFor, headPipelineId, headPipelineStatus }: MrDetail): readonly Blocker[] {
  if (ciFinding === null || ciFinding.pipelineId !== headPipelineId || headPipelineStatus !== 'failed') return []
  if (waitsFor === null || ['pipeline_not_green', 'retrying_ci'].includes(waitsFor.code)) return []
  return [{ ...ciFinding.reason, since: null }]
}

/** It is merged; what is left to wait for are builds, and those that failed are told as long as others run. */
function waitsOfBuilds(builds: Builds): readonly Blocker[] {
  return Object.entries(builds)
    .filter(([, { outcome }]) => outcome !== 'succeeded')
    .map(([name, build]) => ({
      code: build.outcome === 'waiting' ? 'waiting_for_build' : 'build_failed',
      message: `${describeBuild(name, build)}${build.url === null ? '' : `: ${build.url}`}`,
      since: new Date(build.since),
      clearedBy: build.outcome === 'waiting' ? 'Konflux' : 'a newer run of the build',
    }))
}
