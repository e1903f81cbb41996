-- A worker that has drained takes its row away.
delete from pgsched.workers where id = %(worker)s
