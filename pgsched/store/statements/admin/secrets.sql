-- A client's secrets, ordered by name, without their contents.
select name, created_at, updated_at, hosts from pgsched.secrets(%(client)s) where %(after)s::text is null or name > %(after)s order by name limit %(limit)s
