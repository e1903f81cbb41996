-- A worker that was silent for too long is lost, unless it has put its end off since it was looked at: then no row. From
-- now on it cannot renew any more, and anybody may take its rows back.
update pgsched.workers w set lost_since = pgsched.now()
  from unnest(%(workers)s::integer[], %(ends)s::float8[]) as seen(id, expires_at)
 where w.id = seen.id and w.lost_since is null and extract(epoch from w.expires_at)::float8 = seen.expires_at
returning w.id
