-- replay: runs a dead letter again; answers with the new execution.
select pgsched.replay(%(id)s, target => %(target)s::text, payload => %(payload)s::jsonb, options => %(options)s::jsonb,
                      note => %(note)s::text, actor => %(actor)s::text)
