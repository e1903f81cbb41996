-- The time of day on the database's clock.
select clock_timestamp()
