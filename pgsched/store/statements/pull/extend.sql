-- pull: a consumer keeps an execution for longer; answers until when. Fenced by the token.
select pgsched.extend(%(id)s, %(token)s, %(lease)s)
