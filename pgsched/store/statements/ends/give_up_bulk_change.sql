-- bulk changes: one that cannot go on is ended, and says why. Locks the change, unless somebody has it.
update pgsched.bulk_changes b set state = 'cancelled', reason = %(reason)s, updated_at = pgsched.now()
 where b.id = any (array(select a.id from pgsched.bulk_changes a where a.id = %(change)s and a.state = 'active' for update skip locked))
