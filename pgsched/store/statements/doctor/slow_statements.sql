-- doctor: statements of pgsched's sessions that have run longer than `seconds`. Only a session's own login and monitors
-- can see when the session's statement began.
select a.pid, a.application_name as name, extract(epoch from pg_catalog.clock_timestamp() - a.query_start)::float8 as seconds,
       pg_catalog.left(a.query, 80) as query, a.wait_event_type = 'Lock' as waits
  from pg_catalog.pg_stat_activity a
 where a.datname = pg_catalog.current_database() and a.application_name like 'pgsched%%' and a.state = 'active'
   and a.pid <> pg_catalog.pg_backend_pid()
   and a.query_start < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => %(seconds)s)
 order by a.query_start limit %(most)s
