-- plan: instants that already have a row or an outcome, although their job was changed before the instants came or
-- while a worker was claiming the row. A claim reads less than a second ahead. Locks nothing. Indexes: executions_job
-- of each partition; history_job.
select w.id, taken.scheduled_for
  from unnest(%(jobs)s::uuid[], %(begins)s::timestamptz[], %(changed)s::timestamptz[]) as w(id, begin, changed)
 cross join lateral (
   select e.scheduled_for from pgsched.executions e
    where e.job_id = w.id and e.scheduled_for > w.begin
      and e.scheduled_for <= greatest(w.begin, w.changed) + interval '1 second'
   union all
   select h.scheduled_for from pgsched.history h
    where h.job_id = w.id and h.scheduled_for > w.begin
      and h.scheduled_for <= greatest(w.begin, w.changed) + interval '1 second') taken
