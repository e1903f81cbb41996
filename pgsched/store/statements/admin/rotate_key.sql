-- Gives a key of the API another secret. Locks the key.
select pgsched_internal.rotate_key(%(id)s, %(hash)s, %(keep_for)s, actor => %(actor)s::text)
