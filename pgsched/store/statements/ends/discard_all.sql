-- discard: as many of the dead letters that a filter names as one call may.
select discarded, complete
  from pgsched.discard_all(%(filter)s::jsonb, note => %(note)s::text, actor => %(actor)s::text)
