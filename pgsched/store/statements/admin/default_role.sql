-- up: the role of the client `default`. Index: the primary key.
select database_role::text from pgsched.clients where client_id = 'default'
