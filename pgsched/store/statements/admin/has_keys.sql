-- Whether there is a key of the API, or was one. Locks nothing.
select pgsched_internal.has_keys()
