-- status: executions that no worker can deliver. Locks nothing.
select needs, held, workers from pgsched.undeliverable limit 20
