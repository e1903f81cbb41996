-- page: bulk operations, newest first. Locks nothing. Indexes: the primary key, bulk_operations_job.
select r.id, r.action, r.clients, r.filter, r.target, r.fire_at, r.shift, r.note, r.rate, r.state, r.total, r.done, r.skipped, r.failed, r.reason,
       r.actor, r.created_at, r.updated_at
  from pgsched.bulk_operations r where true{clauses} order by r.id{order} limit %(limit)s
