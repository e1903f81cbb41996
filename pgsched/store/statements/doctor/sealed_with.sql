-- doctor: which keys secrets are sealed with, and how many by each. Locks nothing.
select head, secrets from pgsched_internal.sealed_with()
