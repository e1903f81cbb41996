-- levels: records that a queue has become full or is no longer full. Writes only on a change. Skips a queue that
-- another transaction has locked.
update pgsched.queues q set full_since = case when %(full)s then pgsched.now() end
 where q.name = (select l.name from pgsched.queues l
                  where l.name = %(name)s and l.max_waiting = %(maximum)s and (l.full_since is not null) <> %(full)s
                    for update skip locked)
