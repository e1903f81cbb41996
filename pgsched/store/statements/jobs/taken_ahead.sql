-- plan: which instants within a second of a job's change already have a row or an outcome. Claims read less than a
-- second ahead, so a worker may have claimed such a row before the change, or while it was made. Locks nothing.
-- Indexes: executions_job of each partition; history_job.
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
