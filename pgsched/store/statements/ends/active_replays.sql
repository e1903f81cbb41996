-- replay: those of many that are not done yet. Locks nothing. Index: replays_active.
select r.id from pgsched.replays r where r.state = 'active' order by r.id
