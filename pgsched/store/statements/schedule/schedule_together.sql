-- schedule_together: one-shots of one client, in order; all of them or none. It locks what pgsched.schedule_outcome locks of
-- each, and waits 50 ms for it.
select id, outcome, fires_at as fire_at from pgsched_internal.schedule_together(%(client)s::text, %(orders)s::jsonb)
