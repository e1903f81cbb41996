-- gates: records what was drawn from locked gates. Index: the primary key.
update pgsched_internal.gates g
   set next_at = d.next_at, shut_until = timestamptz '2000-01-01 00:00+00' + d.shut_until * interval '1 microsecond'
  from unnest(%(names)s::text[], %(nexts)s, %(shuts)s::bigint[]) as d(name, next_at, shut_until)
 where g.name = any (array[d.name])
