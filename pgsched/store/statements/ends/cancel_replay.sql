-- replay: ends one of many.
select pgsched.cancel_replay(%(id)s, actor => %(actor)s::text)
