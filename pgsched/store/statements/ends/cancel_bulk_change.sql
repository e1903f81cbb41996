-- bulk changes: ends one.
select pgsched.cancel_bulk_change(%(id)s, actor => %(actor)s::text)
