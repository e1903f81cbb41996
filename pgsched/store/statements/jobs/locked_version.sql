-- When a job was last changed. Locks the job until the end of the transaction, so that it cannot be changed meanwhile.
select updated_at from pgsched.jobs where id = %(id)s for update
