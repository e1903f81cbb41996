-- backfill: how many instants its range has, counted by whoever can.
update pgsched.backfills set instants = %(instants)s where id = %(backfill)s
