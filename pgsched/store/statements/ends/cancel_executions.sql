-- cancel: has workers cancel the executions that a filter names.
select pgsched.cancel_executions(%(filter)s::jsonb, rate => %(rate)s, note => %(note)s::text, actor => %(actor)s::text)
