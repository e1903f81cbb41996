-- The workers of a machine that renew what they say of themselves in time. Locks nothing; reads the few rows that there are.
select w.name from pgsched.workers w
 where pg_catalog.starts_with(w.name, %(host)s || ':') and w.expires_at > pgsched.now() and w.lost_since is null
 order by w.name
