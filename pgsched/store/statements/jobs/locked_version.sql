-- When a job was last changed. Locks its row until the end of the transaction, so that no one changes it.
select updated_at from pgsched.jobs where id = %(id)s for update
