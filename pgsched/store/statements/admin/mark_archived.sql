-- archive: says that a day has been put away.
select pgsched.mark_archived(%(day)s, %(actor)s::text)
