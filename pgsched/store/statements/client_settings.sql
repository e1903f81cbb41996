-- What a worker must know of the clients: what they keep, for how long their executions matter (seconds), and what they
-- sign with, and as which role their functions are called.
select client_id, keep::text, extract(epoch from relevant_for)::float8 as relevant_for, signing_secret, database_role
  from pgsched.clients
