-- The execution that has a key of a client now, or was the last to end under it. Locks nothing. Index: the primary key of keys.
select s.id from pgsched.status_of(%(client)s::text, %(key)s::text) s
