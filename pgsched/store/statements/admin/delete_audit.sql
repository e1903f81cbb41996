-- Rows of the audit log that are older than so many days, from the oldest on. Locks the rows it takes; skips those another
-- worker has. Index: the primary key, whose order is that of time.
delete from pgsched.audit_log a where a.id = any (array(
  select o.id from (select l.id, l.at from pgsched.audit_log l order by l.id limit %(most)s for update skip locked) o
   where o.at < pgsched.now() - make_interval(days => %(kept)s)))
