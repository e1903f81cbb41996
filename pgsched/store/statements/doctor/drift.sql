-- doctor: what of pgsched is not as it was recorded when it was migrated: missing, changed or added; and by which version of PostgreSQL
-- that was recorded. No row where all is as it was. Index: the primary key of facts. Locks nothing.
with recorded as (
  select f.value::jsonb as was from pgsched_internal.facts f where f.name = 'catalogue'
), compared as (
  select coalesce(w.key, n.key) as name, case when n.key is null then 'missing' when w.key is null then 'added' else 'changed' end as what
    from (select t.* from recorded r, jsonb_each_text(r.was -> 'things') t) w
    full join jsonb_each_text(pgsched_internal.catalogue()) n on n.key = w.key
   where w.value is distinct from n.value
)
select c.name, c.what, r.was ->> 'server' = (current_setting('server_version_num')::integer / 10000)::text as comparable
  from compared c cross join recorded r
 order by c.what, c.name limit 1000
