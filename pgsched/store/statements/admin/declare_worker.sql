-- A worker says what it can deliver, which changes when its application registers a handler, and tells the others so.
-- Index: the primary key.
with declared as (
  update pgsched.workers w set delivers = %(delivers)s where w.id = %(worker)s returning w.id
)
select pgsched_internal.notify_workers('workers') from declared
