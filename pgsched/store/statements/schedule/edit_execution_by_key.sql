-- edit: what a client has under a key. pgsched.edit_execution says what it locks.
select pgsched.edit_execution(client => %(client)s, key => %(key)s, changes => %(changes)s::jsonb, note => %(note)s::text, actor => %(actor)s::text)
