-- doctor: settings that keep autovacuum from the tables that change constantly: server settings, and tables for which
-- autovacuum is turned off or whose own settings are lost. Locks nothing.
(select 'setting' as kind, s.name || ' = ' || s.setting as name from pg_catalog.pg_settings s
  where s.name in ('autovacuum', 'track_counts') and s.setting = 'off')
union all
(select case when 'autovacuum_enabled=false' = any (c.reloptions) then 'off' else 'settings' end, c.oid::pg_catalog.regclass::text
   from pg_catalog.pg_class c
  where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and c.relkind = 'r'
    and ('autovacuum_enabled=false' = any (c.reloptions)
         or c.relname ~ '^executions_[0-9]+$' and not coalesce(array['fillfactor=50', 'autovacuum_vacuum_scale_factor=0.01'] <@ c.reloptions, false))
  order by 1, 2 limit %(most)s)
