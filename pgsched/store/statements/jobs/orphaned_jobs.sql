-- The sweep: of the next active jobs from a mark on, no more than most, those without a row that will carry them on: none
-- waiting and none in hand whose successor is still to be planned. Takes them up for planning again, from their latest
-- planned instant that has a row, live or finished, whatever became of it and whichever gates it went through (plan below 0):
-- neither a triggered row nor one of a backfill accounts for the instants before it. From now where the client does not keep
-- all history. Answers with the last job looked at if there may be more, and how many were taken up.
-- Indexes: the primary key of jobs; executions_job; history_job.
with looked_at as materialized (
  select j.id, j.state = 'active' and j.planned_revision = j.revision
           and (select e.id from pgsched.executions e  -- "not exists" might be hashed, and read them all
                 where e.partition = pgsched_internal.partition_of(j) and e.job_id = j.id
                   and e.plan = j.revision and e.attempt = 0 limit 1) is null as is_orphaned
    from pgsched.jobs j where j.id > %(after)s order by j.id limit %(most)s
), repaired as (
  update pgsched.jobs j
     set planned_revision = 0,
         accounted_to = case
           when coalesce((select c.keep from pgsched.clients c where c.client_id = j.client_id), 'all') <> 'all' then pgsched.now()
           else coalesce(greatest(
             (select max(e.scheduled_for) from pgsched.executions e where e.job_id = j.id and e.plan <> 0),
             (select max(coalesce(h.last_scheduled_for, h.scheduled_for)) from pgsched.history h
               where h.job_id = j.id and h.plan <> 0 and isfinite(h.scheduled_for))),
             j.accounted_to) end
   where j.id = any (array(
     select o.id from pgsched.jobs o
      where o.id = any (array(select l.id from looked_at l where l.is_orphaned))
        and o.state = 'active' and o.planned_revision = o.revision
        for update skip locked))
  returning j.id
)
select case when count(*) = %(most)s then max(id::text)::uuid end, (select count(*) from repaired) from looked_at
