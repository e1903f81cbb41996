-- The current time on the database's clock.
select clock_timestamp()
