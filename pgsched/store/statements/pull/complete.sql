-- pull: ends an execution that a consumer has in hand, with its result. Fenced by the token.
select pgsched.complete(%(id)s, %(token)s, %(result)s::jsonb)
