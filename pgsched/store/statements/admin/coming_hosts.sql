-- recovery: counts the hosts that will be called by executions that are due now or within a day. A target without a
-- host counts by its scheme. The most frequent come first. Reads at most looked_at rows. Locks nothing. Index:
-- executions_fire_at.
select c.called, count(*) as executions
  from (select coalesce(pgsched_internal.target_host(e.target), split_part(e.target, ':', 1) || ':') as called
          from pgsched.executions e where e.fire_at <= pgsched.now() + interval '1 day' limit %(looked_at)s) c
 group by 1 order by executions desc, 1 limit %(most)s
