-- doctor: the number of consecutive days, starting today, for which history, attempts and rollups all have a partition.
-- Reads catalogues by their indexes. Locks nothing.
select (select count(*) from (
          select bool_and(exists (
                   select from pgsched_internal.days_of(p.name) d where today.day + n between d.first_day and d.last_day)) over (order by n) as made
            from (select (pgsched.now() at time zone 'UTC')::date as day) today, generate_series(0, 14) n) days
         where days.made)::integer as days, p.name as parent
  from unnest(array['history', 'attempts', 'rollups']) p(name) order by 1, p.name <> 'history' limit 1
