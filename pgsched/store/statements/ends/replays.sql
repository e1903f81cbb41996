-- replay: how far it is, one or the newest ones. Locks nothing. Index: the primary key.
select b.id, b.clients, b.filter, b.target, b.rate, b.state, b.changed as replayed, b.passed_over, b.reason, b.actor, b.created_at, b.updated_at
  from pgsched.bulk_changes b
 where b.id = coalesce(%(replay)s::uuid, b.id) and (%(after)s::uuid is null or b.id < %(after)s) and b.verb = 'replay'
 order by b.id desc limit %(limit)s
