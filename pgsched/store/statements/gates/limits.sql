-- The limits that are set, by kind and name.
select split_part(g.name, ':', 1) as kind, substr(g.name, strpos(g.name, ':') + 1) as name, g.events as rate, g.period as per,
       case when g.events is not null then g.burst end as burst, g.concurrency, g.updated_at
  from pgsched_internal.gates g
 where g.name not like 'circuit:%%' and num_nonnulls(g.events, g.concurrency) > 0
   and (%(kind)s::text is null or split_part(g.name, ':', 1) = %(kind)s)
   and (%(name)s::text is null or substr(g.name, strpos(g.name, ':') + 1) = %(name)s)
   and (%(after)s::text is null or g.name > %(after)s)
 order by g.name limit %(limit)s
