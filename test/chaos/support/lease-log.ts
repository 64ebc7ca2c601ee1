/**
 * Who held which lease when, by the database's own account: a trigger writes down every claim together with the name of the
 * connection that made it. Set beside what GitLab saw, it shows every write of a process whose lease somebody else had.
 */
import type { Arrival } from './arrivals.ts'
import type { ChaosPostgres } from './postgres.ts'

export async function logLeases(postgres: ChaosPostgres): Promise<void> {
  await postgres.query(`
    create table lease_log (work_item_id uuid, epoch bigint, holder text, at timestamptz);
    create function log_lease() returns trigger language plpgsql as $$
    begin
      insert into lease_log values (new.id, new.lease_epoch, current_setting('application_name'), clock_timestamp());
      return null;
    end $$;
    create trigger log_claim after update of lease_epoch on work_items
      for each row when (new.lease_epoch <> old.lease_epoch) execute function log_lease();
    create trigger log_birth after insert on work_items
      for each row when (new.lease_epoch > 0) execute function log_lease();`)
}

interface Claim {
  readonly holder: string
  readonly atMs: number
}

/** In words, the writes that were asked for by somebody other than who had claimed the item last. */
export async function writesOfOthers(
  postgres: ChaosPostgres,
  arrivals: readonly Arrival[],
): Promise<readonly string[]> {
  const claims = new Map<string, Claim[]>()
  const rows = await postgres.query(
    `select source_branch, holder, extract(epoch from at)::float8 * 1000 as at_ms
     from lease_log join mr_details using (work_item_id)
     order by at`,
  )
  for (const row of rows) {
    const branch = String(row['source_branch'])
    claims.set(branch, [...(claims.get(branch) ?? []), { holder: String(row['holder']), atMs: Number(row['at_ms']) }])
  }
  return arrivals.flatMap(({ kind, branch, user, arrivedAtMs }) => {
    const claim = claims.get(branch)?.findLast(({ atMs }) => atMs <= arrivedAtMs)
    if (!user.startsWith('service-') || claim === undefined || claim.holder === user) return []
    return [
      `${user} asked for ${kind} of ${branch} ${Math.round(arrivedAtMs - claim.atMs)} ms after ${claim.holder} had claimed it`,
    ]
  })
}
