-- roll up: takes what transactions have noted, passing over what another worker takes at this moment, and adds it as roll_up does.
select pgsched_internal.roll_up_notes(%(most)s)
