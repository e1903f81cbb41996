-- replay: one that cannot go on is ended, and says why. Locks the replay, unless somebody has it.
update pgsched.replays r set state = 'cancelled', reason = %(reason)s, updated_at = pgsched.now()
 where r.id = any (array(select a.id from pgsched.replays a where a.id = %(replay)s and a.state = 'active' for update skip locked))
