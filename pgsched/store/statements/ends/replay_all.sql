-- replay: has workers run the dead letters again that a filter names.
select pgsched.replay_all(%(filter)s::jsonb, rate => %(rate)s, target => %(target)s::text, note => %(note)s::text,
                          actor => %(actor)s::text)
