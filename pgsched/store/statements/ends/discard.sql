-- discard: a dead letter is dealt with.
select pgsched.discard(%(id)s, note => %(note)s::text, actor => %(actor)s::text)
