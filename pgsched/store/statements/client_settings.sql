-- What a worker must know of the clients: what they keep, and what they sign with.
select client_id, keep::text, signing_secret from pgsched.clients
