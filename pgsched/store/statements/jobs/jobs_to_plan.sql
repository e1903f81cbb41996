-- plan: selects from these jobs, in the order given, those whose newest revision has no row yet. Locks the jobs that it
-- returns; skips jobs that another transaction has locked. Index: the primary key, even with a cached plan (see
-- plan_successors).
select j.id, j.cron, j.timezone, j.every, j.anchor, j.gap, j.overlap, j.planned_revision,
       j.client_id as client, j.key, j.rules, j.exceptions, j.runs, j.paused_at, j.accounted_to, j.updated_at, j.revision,
       pgsched_internal.partition_of(j) as partition
  from unnest(%(jobs)s::uuid[]) with ordinality as wanted(id, number)
 cross join lateral (
   select * from pgsched.jobs j
    where j.id = wanted.id and j.state::text = 'active' and j.planned_revision <> j.revision for update skip locked) j
 order by wanted.number
