-- The indexes of the queue core. Apart from 0005, which needs the tables to itself for a moment: this one reads them whole.
update work_items set due_at = coalesce(retry_at, created_at) where actionable;
-- An index over updated_at instead would cost every change of an item an index entry.
update work_items set ended_at = updated_at where phase <> 'active';
alter table work_items validate constraint ended_is_not_actionable;

-- The queue proper, in the order in which items come due; the id makes it a total order, for the claim cursor. An item that
-- has ended is never actionable, so the index need not ask for the phase: of a condition on it a planner without statistics
-- expects so few rows that it would rather sort than read the index in order.
create index work_items_due on work_items (due_at, id) where actionable;

-- What housekeeping removes.
create index work_items_ended on work_items (ended_at) where phase <> 'active';

-- What an operator asks for.
create index pending_events_dead on pending_events (id) where dead;

-- Last: nobody may even read the table from here to the commit.
drop index work_items_actionable;
