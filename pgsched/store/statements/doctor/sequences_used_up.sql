-- doctor: sequences of pgsched that have used more than this share of their numbers. Locks nothing.
select format('%%I.%%I', s.schemaname, s.sequencename) as name, s.last_value as last, s.max_value as most
  from pg_catalog.pg_sequences s
 where s.schemaname in ('pgsched', 'pgsched_internal') and not s.cycle and s.last_value > s.max_value * %(share)s::float8
 order by 1
