-- pull: an attempt of a consumer failed; answers with the execution's status. Fenced by the token.
select pgsched.fail(%(id)s, %(token)s, %(error)s, %(retryable)s, %(retry_after)s::interval)::text
