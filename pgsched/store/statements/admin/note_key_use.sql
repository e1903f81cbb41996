-- Notes that a key of the API was used. Locks it, unless somebody else has.
select pgsched_internal.note_key_use(%(id)s)
