-- What a merge request waits for, its review and its end (decisions 0066 to 0069).
alter table mr_details
  -- The caller's: how long it may stay open, null = as long as the project's own limit; whether a branch that somebody
  -- else has pushed to may be written over.
  add column expires_after_ms   bigint check (expires_after_ms > 0),
  add column force_overwrite    boolean not null default false,

  -- Closed when it is still open then; null = never.
  add column expires_at         timestamptz,
  -- It touches paths that a named person has to agree to: a draft until then.
  add column needs_review       boolean not null default false,
  -- The commit that was agreed to; another one has to be agreed to anew.
  add column reviewed_sha       text,
  -- The head of somebody else that force_overwrite has written over.
  add column overwritten_sha    text,
  -- The service's one note on the merge request, edited in place.
  add column note_id            bigint,
  -- What the last look found to wait for: code, message, cleared_by, since. Null: nothing, or not looked at yet.
  add column waits_for          jsonb;
