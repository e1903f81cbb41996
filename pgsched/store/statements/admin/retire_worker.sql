-- Deletes the row of a worker that has drained.
delete from pgsched.workers where id = %(worker)s
