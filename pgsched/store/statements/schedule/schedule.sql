-- schedule: schedules one execution or job. pgsched.schedule_outcome documents its locks. The casts are for drivers
-- that do not send types.
select placed.id, placed.outcome, placed.fire_at
  from pgsched.schedule_outcome(
         target => cast(%(target)s as text), payload => cast(%(payload)s as jsonb),
         fire_at => coalesce(cast(%(fire_at)s as timestamptz), '-infinity'),
         delay => coalesce(cast(%(delay)s as interval), '0'),
         cron => coalesce(cast(%(cron)s as text), '@once'),
         every => coalesce(cast(%(every)s as interval), '10000 years'),
         timezone => cast(%(timezone)s as text), client => cast(%(client)s as text),
         key => cast(%(key)s as text),
         ordering_key => cast(%(ordering_key)s as text), queue => cast(%(queue)s as text),
         options => cast(%(options)s as jsonb), on_conflict => cast(%(on_conflict)s as text),
         rules => cast(%(rules)s as jsonb), labels => cast(%(labels)s as jsonb),
         after => cast(%(after)s as text[]), after_outcome => cast(%(after_outcome)s as text),
         gap => cast(%(gap)s as text), overlap => cast(%(overlap)s as text)) as placed
