-- Deletes lost workers whose rows have been taken back. Their counts at gates are deleted too.
delete from pgsched.workers where id = any (%(workers)s) and lost_since is not null
