-- The failed attempts of an execution, earliest first. If a dead letter has outlived its day of history, its attempts
-- come from the dead letter itself. Locks nothing. Indexes: attempts_execution, kept_dead_letters_pkey.
select a.attempt, a.finished_at, a.duration, a.worker, a.status_code, a.error, a.traceback
  from pgsched.attempts a where a.execution_id = %(execution)s
union
select t.attempt, t.finished_at, t.duration, t.worker, t.status_code, t.error, t.traceback
  from pgsched_internal.kept_dead_letters k
 cross join jsonb_to_recordset(k.tries) as t(attempt smallint, finished_at timestamptz, duration interval, worker integer,
                                             status_code smallint, error text, traceback text)
 where k.id = %(execution)s
 order by attempt, finished_at
