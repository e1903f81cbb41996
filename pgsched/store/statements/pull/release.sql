-- pull: a consumer hands an execution back unstarted. Fenced by the token.
select pgsched.release(%(id)s, %(token)s)
