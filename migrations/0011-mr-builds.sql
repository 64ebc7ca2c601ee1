-- Builds that are waited for after the merge, and the way from a build's commit to its item (decision 0076).
alter table mr_details
  -- By component: outcome, message, url, until. Null: none is waited for.
  add column builds             jsonb;

-- An event of a build names the commit that it is made of, and nothing else that the service knows.
create index mr_details_merge_commit on mr_details (merge_commit_sha) where merge_commit_sha is not null;
