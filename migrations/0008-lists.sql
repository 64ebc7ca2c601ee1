-- Lists of work items, newest first, read in the order of an index whatever they are narrowed to (decision 0080).
-- The ids are there in their binary form, which sorts the same: an order by id alone the planner would also take from the primary
-- key, past everything that does not fit. The names are compared byte by byte, whatever the collation: only equality is asked for.
create index work_items_of_type
  on work_items (item_type text_pattern_ops, phase text_pattern_ops, uuid_send(id));
-- The open items of a caller and of a key are counted by these too.
create index work_items_of_caller
  on work_items (caller_identity text_pattern_ops, phase text_pattern_ops, uuid_send(id));
create index work_items_of_key
  on work_items (concurrency_key text_pattern_ops, phase text_pattern_ops, uuid_send(id))
  where concurrency_key is not null;

-- Last: nobody may even read the table from here to the commit.
drop index work_items_item_type;
drop index work_items_phase;
