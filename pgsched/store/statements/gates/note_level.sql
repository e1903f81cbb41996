-- levels: notes that a queue has become full, or is not any more; writes only then. Passes over one that somebody is changing.
update pgsched.queues q set full_since = case when %(full)s then pgsched.now() end
 where q.name = (select l.name from pgsched.queues l
                  where l.name = %(name)s and l.max_waiting = %(maximum)s and (l.full_since is not null) <> %(full)s
                    for update skip locked)
