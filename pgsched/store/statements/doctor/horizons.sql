-- doctor: the sessions, prepared transactions and slots of all databases that keep the server from cleaning up or hold
-- a transaction id for a long time, oldest first. Columns that only a session's own login and monitors may see, such as
-- the session's start and kind, are null for other logins. Locks nothing.
select found.* from (
  select case when coalesce(a.backend_type = 'walsender', a.datid is null) then 'standby' else 'session' end as kind,
         coalesce(nullif(a.application_name, ''), 'without a name') as name, a.pid, coalesce(a.usename::text, '?') as owner,
         a.datname::text as database, extract(epoch from pg_catalog.clock_timestamp() - a.xact_start)::float8 as seconds,
         greatest(pg_catalog.age(a.backend_xmin), pg_catalog.age(a.backend_xid)) as transactions, a.backend_xid is not null as writes
    from pg_catalog.pg_stat_activity a
   where (a.backend_xmin is not null or a.backend_xid is not null) and a.pid <> pg_catalog.pg_backend_pid()
     and a.usesysid is not null and coalesce(a.backend_type in ('client backend', 'walsender'), true)
  union all
  select 'prepared transaction', p.gid, null, p.owner::text, p.database::text,
         extract(epoch from pg_catalog.clock_timestamp() - p.prepared)::float8, pg_catalog.age(p.transaction), true
    from pg_catalog.pg_prepared_xacts p
  union all
  select 'replication slot', s.slot_name::text, s.active_pid, null, s.database::text, null,
         greatest(pg_catalog.age(s.xmin), pg_catalog.age(s.catalog_xmin)), false
    from pg_catalog.pg_replication_slots s where s.xmin is not null or s.catalog_xmin is not null) found
 order by found.transactions desc nulls last limit %(most)s
