-- doctor: sequences of pgsched of whose numbers more than this share are given out. Locks nothing.
select format('%%I.%%I', s.schemaname, s.sequencename) as name, s.last_value as last, s.max_value as most
  from pg_catalog.pg_sequences s
 where s.schemaname in ('pgsched', 'pgsched_internal') and not s.cycle and s.last_value > s.max_value * %(share)s::float8
 order by 1
