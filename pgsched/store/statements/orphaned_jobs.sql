-- The sweep: active, planned jobs without a row that will carry them on: none waiting and none in hand whose successor
-- is still to be planned. Takes them up for planning again, from their latest planned instant that has a row, live or finished:
-- neither a triggered row nor one of a backfill accounts for the instants before it. From now where the client does not keep
-- all history.
-- Indexes: executions_job; history_job.
update pgsched.jobs j
   set planned_revision = 0,
       accounted_to = case
         when coalesce((select c.keep from pgsched.clients c where c.client_id = j.client_id), 'all') <> 'all' then pgsched.now()
         else coalesce(greatest(
           (select max(e.scheduled_for) from pgsched.executions e where e.job_id = j.id and e.plan > 0),
           (select max(coalesce(h.last_scheduled_for, h.scheduled_for)) from pgsched.history h
             where h.job_id = j.id and h.plan > 0 and isfinite(h.scheduled_for))),
           j.accounted_to) end
 where j.id = any (array(
   select o.id from pgsched.jobs o
    where o.state = 'active' and o.planned_revision = o.revision
      and not exists (select from pgsched.executions e
                       where e.partition = pgsched_internal.partition_of(o) and e.job_id = o.id
                         and e.plan = o.revision and e.attempt = 0)
    for update skip locked))
returning j.id
