-- backfill: ends one.
select pgsched.cancel_backfill(%(backfill)s, %(actor)s::text)
