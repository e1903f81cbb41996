-- plan: marks jobs without a next instant as finished, unless they have been edited since.
update pgsched.jobs j set state = 'finished', reason = f.reason, updated_at = pgsched.now()
  from unnest(%(jobs)s::uuid[], %(revisions)s::int[], %(reasons)s::text[]) as f(id, revision, reason)
 where j.id = any (array[f.id]) and j.revision = f.revision and j.state = 'active'
