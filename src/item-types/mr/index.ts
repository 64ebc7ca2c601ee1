/**
 * The item type `mr`: one merge request, from submission to merge. This file is its table of contents; every part is a
 * file of the same name.
 */
import type { Database } from '../../db/database.ts'
import type { GitLab } from '../../gitlab/port.ts'
import type { ItemType } from '../../queue/item-type.ts'
import type { MrConfig } from './config.ts'
import { decide } from './decider.ts'
import type { MrDetail } from './detail.ts'
import { MR_DIMENSIONS, NEEDS_CANCEL, NEEDS_MR } from './dimensions.ts'
import { createHandleEvent } from './events/handler.ts'
import { createResolveItems } from './events/resolver.ts'
import { createCancelMr } from './executors/cancel-mr.ts'
import { createCheckBuilds } from './executors/check-builds.ts'
import { createCheckEmpty } from './executors/check-empty.ts'
import { createEnsureMr } from './executors/ensure-mr.ts'
import { createPostDashboardLink } from './executors/post-dashboard-link.ts'
import { createReconcileMr } from './executors/reconcile-mr.ts'
import { createRetryCi } from './executors/retry-ci.ts'
import { createHerder } from './herder/create-herder.ts'
import { contentHashOf, dedupKeyOf, scopeOfKey } from './identity.ts'
import { createInspector } from './inspection/inspector.ts'
import { present } from './present.ts'
import { createPreview } from './preview.ts'
import { type MrSubmission, mrSubmissionSchema } from './schema.ts'
import { mrDetails, readContent } from './store.ts'

export interface MrDependencies {
  readonly db: Database
  readonly gitlab: GitLab
  readonly config: MrConfig
}

export function createMrItemType({ db, gitlab, config }: MrDependencies): ItemType<MrSubmission, MrDetail> {
  const inspector = createInspector(config)
  const services = { db, gitlab, config, inspector, readContent: (id: string) => readContent(db, id) }

  const resolveItems = createResolveItems(db)

  /** GitLab ignores the case of a project's path, identities do not: the configuration's spelling is the one kept. */
  const canonical = (submission: MrSubmission): MrSubmission => ({
    ...submission,
    project: inspector.policyOf(submission.project)?.path ?? submission.project,
  })

  return {
    name: 'mr',
    submissionSchema: mrSubmissionSchema,
    dimensions: MR_DIMENSIONS,
    onSubmission: { needed: [NEEDS_MR], cleared: [NEEDS_CANCEL] },
    onCancel: NEEDS_CANCEL,
    identify(submission) {
      const content = canonical(submission)
      return { dedupKey: dedupKeyOf(content), contentHash: contentHashOf(content), concurrencyKey: content.project }
    },
    scopeOfSubmission: ({ project, source_branch, file_actions }) => ({
      project,
      branch: source_branch,
      paths: file_actions.flatMap((action) =>
        action.action === 'move' ? [action.file_path, action.previous_path] : [action.file_path],
      ),
    }),
    scopeOfItem: ({ dedupKey }) => scopeOfKey(dedupKey),
    inspect: (submission) => inspector.inspect(submission),
    requires: ({ force_overwrite }) => (force_overwrite ? ['overwrite'] : []),
    preview: createPreview(services),
    details: mrDetails(canonical),
    decide,
    executors: {
      cancel_mr: createCancelMr(services),
      check_builds: createCheckBuilds(services),
      check_empty: createCheckEmpty(services),
      ensure_mr: createEnsureMr(services),
      post_dashboard_link: createPostDashboardLink(services),
      reconcile_mr: createReconcileMr(services),
      retry_ci: createRetryCi(services),
    },
    events: { resolve: (_db, event) => resolveItems(event), handle: createHandleEvent(config) },
    herder: createHerder({ db, gitlab, config }),
    present,
  }
}
