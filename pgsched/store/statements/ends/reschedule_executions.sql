-- reschedule: has workers move the executions that a filter names.
select pgsched.reschedule_executions(%(filter)s::jsonb, fire_at => %(fire_at)s::timestamptz, shift => %(shift)s::interval, rate => %(rate)s,
                                     note => %(note)s::text, actor => %(actor)s::text)
