-- replay: whether there is anything to do. Locks nothing. Index: replays_active.
select exists (select from pgsched.replays r where r.state = 'active')
