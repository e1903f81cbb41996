-- Registered workers, whether each still has a session with its name and login, and the database's time in seconds.
-- Everyone may read these columns of pg_stat_activity, and only a login that can act as the same role can have such a
-- session. Locks and writes nothing. `served` holds the first partitions of the worker's existing queues, and `paused`
-- those of its paused queues; while the installation is held, all queues are paused, and `held` says why.
with sessions as materialized (
  select a.usesysid as login, substring(a.application_name from '^pgsched [a-z]+ ([0-9a-f]+)') as instance
    from pg_catalog.pg_stat_activity a where a.application_name like 'pgsched %%'
)
select w.id, w.queues,
       array(select q.first_partition from pgsched.queues q where q.name = any (w.queues) and not q.pulled order by 1) as served,
       array(select q.first_partition from pgsched.queues q where q.name = any (w.queues)
                and (q.paused_at is not null or exists (select from pgsched.installation i where i.held_since is not null))) as paused,
       (select coalesce(i.reason, '') from pgsched.installation i where i.held_since is not null) as held,
       w.delivers,
       extract(epoch from w.expires_at)::float8 as expires_at, extract(epoch from w.lease)::float8 as lease,
       extract(epoch from pgsched.now())::float8 as now,
       not exists (select from sessions s where s.instance = w.instance and s.login = w.login) as gone,
       w.lost_since is not null as lost,
       exists (select from pgsched_internal.draining d where d.worker = w.id) as draining
  from pgsched.workers w order by w.id
