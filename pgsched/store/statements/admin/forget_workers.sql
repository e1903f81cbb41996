-- Deletes lost workers once their rows have been taken back, and with them their counts at gates.
delete from pgsched.workers where id = any (%(workers)s) and lost_since is not null
