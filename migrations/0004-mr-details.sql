-- The mr item type's detail table (decision 0007): what the caller wants, then what the service observed.
create table mr_details (
  work_item_id          uuid    primary key references work_items (id) on delete cascade,
  project               text    not null,
  source_branch         text    not null,
  -- null: the project's default branch, whatever it is when the service writes.
  target_branch         text,
  title                 text    not null,
  description           text    not null,
  commit_message        text    not null,
  file_actions          jsonb   not null,
  labels                text[]  not null,
  assignees             text[]  not null,
  reviewers             text[]  not null,
  auto_merge            boolean not null,
  squash                boolean not null,
  remove_source_branch  boolean not null,

  -- Numeric project id in GitLab, null until the project was looked up.
  project_id            bigint,
  -- The target in use: target_branch, or the default branch as last seen.
  resolved_target       text,
  mr_iid                bigint,
  web_url               text,
  -- The commit the service wrote to the source branch last; a head it does not know is never overwritten.
  written_sha           text,
  -- Hash of the files, commit message and target that written_sha carries; tells whether a new commit is due.
  written_hash          text,
  -- The target has moved into a conflict: the commit has to be made again on the newest target head.
  rebuild_wanted        boolean not null default false,
  head_sha              text,
  head_pipeline_id      bigint,
  head_pipeline_status  text,
  detailed_merge_status text,
  -- Why the last merge was not made, in GitLab's words; null when none was refused.
  merge_refusal         text,
  -- Looks in a row at a merge request that was not settled yet; makes the next look come later.
  unsettled_looks       integer not null default 0,
  merge_commit_sha      text,
  merged_at             timestamptz
);

create index mr_details_mr on mr_details (project_id, mr_iid);
create index mr_details_pipeline on mr_details (project_id, head_pipeline_id);
create index mr_details_branch on mr_details (project_id, source_branch);
create index mr_details_target on mr_details (project_id, resolved_target);
