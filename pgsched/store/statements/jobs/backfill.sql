-- backfill: starts one, and notes how many instants its range has.
with started as materialized (
  select pgsched.backfill(%(job)s, %(start)s, %(end)s, %(rate)s, %(actor)s::text) as id)
select id from started
