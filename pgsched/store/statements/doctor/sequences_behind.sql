-- doctor: sequences of pgsched with a number among their next thousand that is already in use. A sequence that the
-- login may not read is left out. Indexes: the primary keys of workers and audit_log. Locks nothing.
select s.name, s.last, t.taken
  from (select n.name, coalesce(pg_catalog.pg_sequence_last_value(n.name::regclass), 0) as last
          from (values ('pgsched.workers_id_seq'), ('pgsched.audit_log_id_seq')) n (name)
         where pg_catalog.has_sequence_privilege(n.name, 'select')) s
 cross join lateral (
   select case s.name when 'pgsched.workers_id_seq' then (select min(w.id) from pgsched.workers w where w.id > s.last and w.id <= s.last + 1000)
                      else (select min(a.id) from pgsched.audit_log a where a.id > s.last and a.id <= s.last + 1000) end as taken) t
 where t.taken is not null order by 1
