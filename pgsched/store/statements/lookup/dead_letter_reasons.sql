-- dead letters: the reasons of up to `limit` dead letters, grouped by their first 80 characters, most frequent first.
-- Locks nothing. Indexes: as in dead_letters.
select left(coalesce(l.reason, ''), 80) as reason, count(*) as letters, count(distinct l.client_id) as clients, min(l.client_id) as client,
       min(l.finished_at) as first, max(l.finished_at) as last
  from (select r.id, r.client_id, r.reason, r.finished_at from pgsched.dead_letters r where true{clauses} order by r.id{order} limit %(limit)s) l
 group by 1 order by 2 desc, 6 desc
