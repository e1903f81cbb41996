-- limit: takes the place of the limit there was. Locks the gate's row.
select pgsched.set_limit(%(kind)s, %(name)s, rate => %(rate)s::int, per => %(per)s::interval, burst => %(burst)s::int,
                         concurrency => %(concurrency)s::int, actor => %(actor)s::text)
