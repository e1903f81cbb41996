-- The secrets of a client, by name, and nothing of what is in them.
select name, created_at, updated_at, hosts from pgsched.secrets(%(client)s) where %(after)s::text is null or name > %(after)s order by name limit %(limit)s
