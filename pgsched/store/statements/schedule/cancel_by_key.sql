-- cancel_by_key: the execution or job that a client has under a key. pgsched.cancel says what it locks.
select pgsched.cancel(client => %(client)s, key => %(key)s, note => %(note)s::text, actor => %(actor)s::text)
