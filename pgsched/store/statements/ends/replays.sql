-- replay: how far it is, one or the newest ones. Locks nothing. Index: the primary key.
select r.id, r.clients, r.filter, r.target, r.rate, r.state, r.replayed, r.passed_over, r.reason, r.actor, r.created_at, r.updated_at
  from pgsched.replays r
 where r.id = coalesce(%(replay)s::uuid, r.id) and (%(after)s::uuid is null or r.id < %(after)s)
 order by r.id desc limit %(limit)s
