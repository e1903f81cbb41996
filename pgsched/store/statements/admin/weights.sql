-- The weights of these clients. Clients without settings are left out. Index: the primary key.
select c.client_id as client, c.weight from pgsched.clients c where c.client_id = any (%(clients)s::text[])
