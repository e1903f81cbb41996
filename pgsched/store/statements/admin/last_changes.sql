-- The last change of each named object of one kind. Locks nothing. Index: audit_log_name.
select n.name, last.at, last.actor, last.authenticated
  from unnest(%(names)s::text[]) as n(name)
 cross join lateral (
   select a.at, a.actor, a.authenticated from pgsched.audit_log a
    where a.name = n.name and a.kind = %(kind)s order by a.id desc limit 1) as last
