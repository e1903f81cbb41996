-- plan: these jobs have no next instant: they are over, unless they were edited since.
update pgsched.jobs j set state = 'finished', reason = f.reason, updated_at = pgsched.now()
  from unnest(%(jobs)s::uuid[], %(revisions)s::int[], %(reasons)s::text[]) as f(id, revision, reason)
 where j.id = any (array[f.id]) and j.revision = f.revision and j.state = 'active'
