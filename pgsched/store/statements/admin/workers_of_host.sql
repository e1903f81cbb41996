-- The workers on a machine, except those whose registration has expired. Locks nothing; the table is small.
select w.name from pgsched.workers w
 where pg_catalog.starts_with(w.name, %(host)s || ':') and w.expires_at > pgsched.now() and w.lost_since is null
 order by w.name
