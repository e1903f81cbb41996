-- doctor: pgsched's statements that take at least `seconds` on average, according to pg_stat_statements, whose schema
-- is on the search_path.
select pg_catalog.left(s.query, 80) as query, s.calls, s.mean_exec_time / 1000 as seconds from pg_stat_statements s
 where s.dbid = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
   and s.query like '%%pgsched%%' and s.calls >= 10 and s.mean_exec_time >= %(seconds)s * 1000
 order by s.total_exec_time desc limit %(most)s
