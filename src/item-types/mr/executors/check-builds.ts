/**
 * Looks at the builds after the merge: what events have told of each, and whose time is up. It asks nobody, because there is
 * nobody to ask: only the events know. With the last one known the item ends, by the policy of its components.
 */
import type { ExecutorResult } from '../../../queue/item-type.ts'
import { type Build, type Builds, describeBuild, judgeBuilds, observeBuild, rowOf } from '../builds.ts'
import { NEEDS_BUILD, NEEDS_DASHBOARD_LINK } from '../dimensions.ts'
import { type Action, createExecutor, type MrServices, SUCCEEDED } from './context.ts'

export function createCheckBuilds(services: MrServices) {
  return createExecutor(services, async (action) => checkBuilds(action))
}

function checkBuilds(action: Action): ExecutorResult {
  const { services, draft } = action
  const { detail } = draft
  const policy = services.inspector.policyOf(detail.project)
  const before = detail.builds ?? {}
  const builds = observeAll(action, before)
  detail.builds = builds
  draft.settle(NEEDS_BUILD)
  const end = judgeBuilds(builds, policy?.components ?? [])
  if (end === null) {
    const hasNews = Object.entries(builds).some(([name, { outcome }]) => outcome !== before[name]?.outcome)
    if (hasNews && policy?.note) draft.need(NEEDS_DASHBOARD_LINK)
    return SUCCEEDED
  }
  if (!end.fails) {
    draft.finish('completed', end.failing.length === 0 ? 'merged' : 'merged_build_failed')
    return SUCCEEDED
  }
  const message = `It is merged, but ${end.failing.map(([name, build]) => sentenceOf(name, build)).join('; ')}.`
  return { outcome: 'failed_for_good', code: 'build_failed', message }
}

function observeAll({ draft, context }: Action, before: Builds): Builds {
  const { now } = context
  const builds: Record<string, Build> = {}
  for (const [name, known] of Object.entries(before)) {
    const build = observeBuild(known, rowOf(draft.dimensions, name), now)
    builds[name] = build
    const leftMs = new Date(build.until).getTime() - now.getTime()
    if (build.outcome === 'waiting' || (build.outcome === 'failed' && leftMs > 0)) {
      draft.need(NEEDS_BUILD, { variant: name, deferMs: Math.max(0, leftMs) })
    } else {
      draft.settle(NEEDS_BUILD, { variant: name })
    }
  }
  return builds
}

function sentenceOf(name: string, build: Build): string {
  return `${describeBuild(name, build)}${build.url === null ? '' : `: ${build.url}`}`
}
