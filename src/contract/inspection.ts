/**
 * What a dry run answers: what a submission would do, or everything that is wrong with it. Faults are an answer here and
 * no error, for they are what was asked for.
 */
import { z } from 'zod'
import { findingSchema } from './problem.ts'
import { outcomeSchema } from './work-item.ts'

const changeSchema = z
  .object({
    path: z.string(),
    previous_path: z.string().optional().describe('Of a move: where the file is now.'),
    change: z
      .enum(['create', 'update', 'delete', 'move', 'chmod', 'unchanged'])
      .describe('Against what the target holds now; unchanged means that it is so already.'),
    bytes: z.number().int().min(0).optional().describe('Of the content afterwards.'),
    mode: z.string().optional().describe('Afterwards, as Git writes it: 100644, or 100755 for an executable file.'),
    diff: z.string().optional().describe('Only for callers whose rules name the permission `read`.'),
  })
  .meta({ id: 'InspectedChange' })

export const inspectionSchema = z
  .object({
    outcome: outcomeSchema.nullable().describe('What a submission would do now; null when it would be refused.'),
    findings: z
      .array(findingSchema)
      .describe('Everything that is wrong with it, at once; empty when it would be taken.'),
    policy: z.record(z.string(), z.unknown()).describe('The rules that hold for it.'),
    changes: z.array(changeSchema).describe('What it would change in the target, a file each.'),
  })
  .meta({ id: 'Inspection' })

export type Inspection = z.infer<typeof inspectionSchema>
