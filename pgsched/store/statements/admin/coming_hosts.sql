-- recovery: what is called by what is due or comes within a day, the most frequent first: by host, or by scheme where there is none. Looks at so many
-- rows. Locks nothing. Index: executions_fire_at.
select c.called, count(*) as executions
  from (select coalesce(pgsched_internal.target_host(e.target), split_part(e.target, ':', 1) || ':') as called
          from pgsched.executions e where e.fire_at <= pgsched.now() + interval '1 day' limit %(looked_at)s) c
 group by 1 order by executions desc, 1 limit %(most)s
