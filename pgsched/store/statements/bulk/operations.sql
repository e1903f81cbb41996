-- bulk: how far an operation is, or the newest ones, of an action or a job. Locks nothing. Index: the primary key.
select b.id, b.action, b.clients, b.filter, b.target, b.fire_at, b.shift, b.note, b.rate, b.state, b.total, b.done, b.skipped, b.failed, b.reason,
       b.actor, b.created_at, b.updated_at
  from pgsched.bulk_operations b
 where b.id = coalesce(%(operation)s::uuid, b.id) and (%(after)s::uuid is null or b.id < %(after)s)
   and (%(action)s::text is null or b.action = %(action)s) and (%(job)s::text is null or b.filter ->> 'job' = %(job)s)
 order by b.id desc limit %(limit)s
