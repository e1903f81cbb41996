-- Who is alive, who is gone: notes since when a worker's session is missing, and answers with every worker.
-- lost: its lease ran out, or its session has been missing for the grace time, within which a live worker whose
-- connection was cut takes its lock again. Writes only when something changed. served and paused are the first partitions
-- of its queues that there are, and of those that are paused.
with held as (
  select objid::int as id from pg_locks
   where locktype = 'advisory' and classid = 1885631331 and objsubid = 2 and granted
     and database = (select oid from pg_database where datname = current_database())
), noted as (
  update pgsched.workers w set gone_since = pgsched.now()
   where w.gone_since is null and not exists (select from held where held.id = w.id)
  returning w.id
)
select w.id, w.queues,
       array(select q.first_partition from pgsched.queues q where q.name = any (w.queues) and not q.pulled order by 1) as served,
       array(select q.first_partition from pgsched.queues q where q.name = any (w.queues) and q.paused_at is not null) as paused,
       w.delivers, w.tries, w.alone,
       w.gone_since is not null or exists (select from noted where noted.id = w.id) as gone,
       w.expires_at < pgsched.now() or coalesce(w.gone_since < pgsched.now() - %(grace)s, false) as lost
  from pgsched.workers w order by w.id
