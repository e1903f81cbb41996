-- The sweep: active, planned jobs without a row that will carry them on: none waiting and none in hand whose successor
-- is still to be planned. Takes them up for planning again. Index: executions_job.
update pgsched.jobs j set planned_revision = 0
 where j.id = any (array(
   select o.id from pgsched.jobs o
    where o.state = 'active' and o.planned_revision = o.revision
      and not exists (select from pgsched.executions e
                       where e.partition = pgsched.partition_of(o) and e.job_id = o.id
                         and e.plan = o.revision and e.attempt = 0)
    for update skip locked))
returning j.id
