-- plan: the jobs whose newest revision has no row yet. Each client's first job comes before any client's second job, so
-- that no client waits for all the jobs of another. Steps from client to client by index. Locks nothing. Index:
-- jobs_unplanned.
with recursive walked as (
  (select j.client_id, 1 as number from pgsched.jobs j
    where j.state = 'active' and j.planned_revision <> j.revision order by j.client_id limit 1)
  union all
  select (select j.client_id from pgsched.jobs j
           where j.state = 'active' and j.planned_revision <> j.revision and j.client_id > w.client_id
           order by j.client_id limit 1), w.number + 1
    from walked w where w.client_id is not null and w.number < %(batch)s
)
select j.id
  from walked w
  cross join lateral (
    select j.id, row_number() over (order by j.id) as number from pgsched.jobs j
     where j.state = 'active' and j.planned_revision <> j.revision and j.client_id = w.client_id
     order by j.id limit %(batch)s) j
 order by j.number, w.client_id limit %(batch)s
