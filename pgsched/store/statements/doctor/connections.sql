-- doctor: the connection limits of the server, of this database, and of the logins of workers and API, with the number
-- in use and the maximum. Not every login can see the kind of other logins' sessions. Locks nothing.
with used as (
  select a.datid, a.usesysid from pg_catalog.pg_stat_activity a where a.usesysid is not null and coalesce(a.backend_type = 'client backend', a.datid is not null)
), bounds (what, name, used, most) as (
  select 'server', null, (select count(*) from used),
         pg_catalog.current_setting('max_connections')::integer - pg_catalog.current_setting('superuser_reserved_connections')::integer
           - coalesce(pg_catalog.current_setting('reserved_connections', true)::integer, 0)
  union all
  select 'database', d.datname::text, (select count(*) from used u where u.datid = d.oid), d.datconnlimit
    from pg_catalog.pg_database d where d.datname = pg_catalog.current_database() and d.datconnlimit >= 0
  union all
  select 'login', r.rolname::text, (select count(*) from used u where u.usesysid = r.oid), r.rolconnlimit
    from pg_catalog.pg_roles r
   where r.rolconnlimit >= 0 and r.rolcanlogin and not r.rolsuper
     and exists (select from pg_catalog.pg_roles g where g.rolname in ('pgsched_worker', 'pgsched_api')
                    and pg_catalog.pg_has_role(r.oid, g.oid, 'member'))
)
select b.what, b.name, b.used::integer, b.most from bounds b where b.used >= b.most * %(share)s::float8 order by b.what limit %(most)s
