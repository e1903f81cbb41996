-- Records what a worker can deliver, which changes when its application registers a handler, and notifies the other
-- workers. Index: the primary key.
with declared as (
  update pgsched.workers w set delivers = %(delivers)s where w.id = %(worker)s returning w.id
)
select pgsched_internal.notify_workers('workers') from declared
