-- A lost worker is forgotten once its rows were taken back; with it goes what it counted at gates.
delete from pgsched.workers where id = any (%(workers)s) and lost_since is not null
