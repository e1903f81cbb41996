-- Ends a key of the API. Locks the key.
select pgsched_internal.revoke_key(%(id)s, actor => %(actor)s::text)
