-- Holds a key of the API to so many requests a second. Locks the key.
select pgsched_internal.set_key_rate(%(id)s, %(rate)s::integer, %(burst)s::integer, actor => %(actor)s::text)
