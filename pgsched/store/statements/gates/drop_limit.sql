-- limit: takes one away. Locks the gate's row.
select pgsched.drop_limit(%(kind)s, %(name)s, %(actor)s::text)
