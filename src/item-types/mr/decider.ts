/** Which action is next: the first declared dimension that asks for one. Pure. Decisions 0004, 0045 and 0048. */
import { actionableVariants } from '../../queue/dimension.ts'
import type { Snapshot } from '../../queue/item-type.ts'
import { MR_DIMENSIONS, type MrDimension } from './dimensions.ts'

export function decide({ item, dimensions, now }: Snapshot<unknown>): MrDimension['action'] | null {
  if (item.phase !== 'active') return null
  const next = MR_DIMENSIONS.find((declaration) => actionableVariants(declaration, dimensions, now).length > 0)
  return next?.action ?? null
}
