-- cancel: an execution, a job or a backfill's row. pgsched.cancel says what it locks.
select pgsched.cancel(id => %(id)s, note => %(note)s::text, actor => %(actor)s::text)
