-- All limits, ordered by kind and name. Index: the primary key of gates, which has circuits first, and then one kind
-- after another. No kind is a prefix of another kind, so this order does not depend on where the collation sorts the
-- colon.
select split_part(g.name, ':', 1) as kind, substr(g.name, strpos(g.name, ':') + 1) as name, g.events as rate, g.period as per,
       case when g.events is not null then g.burst end as burst, g.concurrency, g.updated_at
  from pgsched_internal.gates g
 where g.name not like 'circuit:%%' and num_nonnulls(g.events, g.concurrency) > 0
   and g.name >= coalesce(%(kind)s::text, 'client') || ':'
   and g.name < case %(kind)s::text when 'client' then 'host' when 'host' then 'key' when 'key' then 'queue' else 'r' end
   and (%(name)s::text is null or g.name = %(kind)s::text || ':' || case %(kind)s::text when 'host' then pgsched_internal.canonical_host(%(name)s) else %(name)s end)
   and (%(after)s::text is null or g.name > %(after)s)
 order by g.name limit %(limit)s
