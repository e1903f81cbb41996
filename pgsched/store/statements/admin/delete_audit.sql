-- Deletes audit log rows that are older than the given number of days, oldest first. Locks the rows it deletes; skips
-- rows that another worker has locked. Index: the primary key, whose order is chronological.
delete from pgsched.audit_log a where a.id = any (array(
  select o.id from (select l.id, l.at from pgsched.audit_log l order by l.id limit %(most)s for update skip locked) o
   where o.at < pgsched.now() - make_interval(days => %(kept)s)))
