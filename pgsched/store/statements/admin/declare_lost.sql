-- Declares silent workers lost. A worker that has renewed its registration since it was read is left out and returns no
-- row. A lost worker can no longer renew, and any other worker may take its rows back.
update pgsched.workers w set lost_since = pgsched.now()
  from unnest(%(workers)s::integer[], %(ends)s::float8[]) as seen(id, expires_at)
 where w.id = seen.id and w.lost_since is null and extract(epoch from w.expires_at)::float8 = seen.expires_at
returning w.id
