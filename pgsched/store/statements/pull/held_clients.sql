-- pull: clients that are held. Locks nothing.
select client_id from pgsched.clients where state = 'held' order by client_id
