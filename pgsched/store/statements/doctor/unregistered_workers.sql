-- doctor: worker processes that are not registered, and whose sessions have been silent for longer than `seconds`: they
-- do not know that they were declared lost. Only a session's own login and monitors can see when the session was last
-- active. Locks nothing.
select s.login, s.address, count(*)::integer as sessions
  from (select a.usename::text as login, coalesce(a.client_addr::text, 'this server') as address,
               substring(a.application_name, '^pgsched [a-z]+ ([0-9a-f]+)$') as instance, a.backend_start, a.state_change
          from pg_catalog.pg_stat_activity a
         where a.datname = pg_catalog.current_database() and a.application_name like 'pgsched %%') s
 where s.instance is not null and not exists (select from pgsched.workers w where w.instance = s.instance)
 group by s.login, s.address, s.instance
having max(s.state_change) < clock_timestamp() - make_interval(secs => %(seconds)s)
 order by 1, 2 limit %(most)s
