-- bulk changes: how far one is, or the newest ones, of a verb or all. Locks nothing. Index: the primary key.
select b.id, b.verb, b.clients, b.filter, b.target, b.fire_at, b.shift, b.note, b.rate, b.state, b.changed, b.passed_over, b.reason, b.actor,
       b.created_at, b.updated_at
  from pgsched.bulk_changes b
 where b.id = coalesce(%(change)s::uuid, b.id) and (%(after)s::uuid is null or b.id < %(after)s)
 order by b.id desc limit %(limit)s
