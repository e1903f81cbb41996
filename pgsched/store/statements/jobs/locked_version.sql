-- When a job was changed last; locks its row, so that nobody changes it before the end of the transaction.
select updated_at from pgsched.jobs where id = %(id)s for update
