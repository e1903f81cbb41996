-- What becomes of a failed try, for results that come by SQL: as domain/outcome.py decides it for those of workers. A test
-- holds the two against each other.

create or replace function pgsched_internal.seconds_in(options jsonb, name text) returns double precision
  language sql immutable parallel safe as $$ select extract(epoch from pgsched_internal.length_of(options ->> name))::float8 $$;
comment on function pgsched_internal.seconds_in(jsonb, text) is 'How long an option that is a duration is, in seconds; null where it is not given.';

create or replace function pgsched_internal.duration_text(seconds double precision) returns text
  language plpgsql immutable parallel safe as $$
declare
  whole constant bigint := round(seconds * 1000000)::bigint;
  days constant bigint := whole / 86400000000;
  hours constant bigint := whole / 3600000000 % 24;
  minutes constant bigint := whole / 60000000 % 60;
  rest constant bigint := whole % 60000000;
  clock text := '';
begin
  if hours > 0 then
    clock := hours || 'H';
  end if;
  if minutes > 0 then
    clock := clock || minutes || 'M';
  end if;
  if rest > 0 then
    clock := clock || rest / 1000000 || rtrim(rtrim('.' || lpad((rest % 1000000)::text, 6, '0'), '0'), '.') || 'S';
  end if;
  return 'P' || case when days > 0 then days || 'D' else '' end
             || case when clock <> '' then 'T' || clock when days = 0 then 'T0S' else '' end;
end $$;
comment on function pgsched_internal.duration_text(double precision) is 'A length of time in ISO 8601, such as PT1H30M.';

create or replace function pgsched_internal.default_attempts() returns integer language sql immutable parallel safe as 'select 22';
comment on function pgsched_internal.default_attempts() is 'After how many attempts an execution has failed for good whose options do not say it.';

create or replace function pgsched_internal.attempts_allowed(options jsonb) returns numeric
  language sql immutable parallel safe as $$
  select coalesce(pgsched_internal.attempts_in(options), pgsched_internal.default_attempts())
$$;
comment on function pgsched_internal.attempts_allowed(jsonb) is 'After how many attempts an execution with these options has failed for good.';

-- A list of waits says how many attempts there are, also where what it is laid over says otherwise.
create or replace function pgsched_internal.laid_over(options jsonb, defaults jsonb) returns jsonb
  language sql immutable parallel safe as $$
  select coalesce(defaults, '{}') || coalesce(options, '{}')
         || case when pgsched_internal.attempts_in(options) is not null
                 then jsonb_build_object('max_attempts', pgsched_internal.attempts_in(options)) else '{}' end
$$;
comment on function pgsched_internal.laid_over(jsonb, jsonb) is 'Options, and what the defaults have beside them.';

-- Of a backfill, which is late by intent, only its own options bound the age.
create or replace function pgsched_internal.options_of(execution pgsched.executions) returns jsonb
  language sql stable parallel safe as $$
  select pgsched_internal.laid_over(execution.options, case when execution.plan = 0
           then defaults - array['relevant_for', 'deadline', 'max_retry_age'] else defaults end)
    from (select pgsched_internal.laid_over(
                   (select c.options from pgsched.clients c where c.client_id = execution.client_id),
                   pgsched_internal.laid_over((select q.options from pgsched.queues q where q.first_partition = (execution.partition & ~15)), null))) d(defaults)
$$;
comment on function pgsched_internal.options_of(pgsched.executions)
  is 'The options that hold for an execution: its own, its client''s where they are silent, and then its queue''s.';

create or replace function pgsched_internal.lateness(
  options jsonb, attempt integer, age double precision, out status pgsched.execution_status, out reason text
) language plpgsql immutable parallel safe as $$
declare
  relevant_for constant double precision := pgsched_internal.seconds_in(options, 'relevant_for');
  deadline constant double precision := pgsched_internal.seconds_in(options, 'deadline');
  max_retry_age constant double precision := pgsched_internal.seconds_in(options, 'max_retry_age');
begin
  if age > relevant_for then
    status := 'expired';
    reason := format('not begun within %s of its instant', pgsched_internal.duration_text(relevant_for));
  elsif age >= deadline then
    status := 'failed';
    reason := format('not begun before its deadline, %s after its instant', pgsched_internal.duration_text(deadline));
  elsif attempt > 1 and age > max_retry_age then
    status := 'failed';
    reason := format('no retry begins later than %s after its instant', pgsched_internal.duration_text(max_retry_age));
  end if;
end $$;
comment on function pgsched_internal.lateness(jsonb, integer, double precision)
  is 'How an execution ends whose attempt of this number must not begin any more, so many seconds after its instant; null and null
where it may.';

-- Drawn is what the wait is drawn by, from 0 to 1. Whether the power is over the maximum is told by logarithms: it might
-- be no number that there is.
create or replace function pgsched_internal.backoff(options jsonb, attempt integer, drawn double precision) returns double precision
  language plpgsql immutable parallel safe as $$
declare
  given constant jsonb := coalesce(options -> 'backoff', '{}');
  initial double precision;
  factor double precision;
  maximum double precision;
begin
  if jsonb_typeof(given) = 'array' then
    return extract(epoch from pgsched_internal.length_of(given ->> least(attempt, jsonb_array_length(given)) - 1));
  end if;
  initial := coalesce(pgsched_internal.seconds_in(given, 'initial'), 1);
  factor := coalesce((given ->> 'factor')::float8, 2);
  maximum := coalesce(pgsched_internal.seconds_in(given, 'maximum'), greatest(600, initial));
  if ln(initial) + (attempt - 1) * ln(factor) >= ln(maximum) then
    return (0.5 + drawn / 2) * maximum;
  end if;
  return (0.5 + drawn / 2) * initial * power(factor, attempt - 1);
end $$;
comment on function pgsched_internal.backoff(jsonb, integer, double precision)
  is 'Seconds to wait after the failed attempt of this number; what is drawn, from 0 to 1, spreads waits that are not a list.';

create or replace function pgsched_internal.after_failure(
  options jsonb, attempt integer, age double precision, error text, retryable boolean, retry_after interval, drawn double precision,
  out status pgsched.execution_status, out delay double precision, out reason text
) language plpgsql immutable parallel safe as $$
declare
  late record;
begin
  reason := left(error, 2000);
  status := 'failed';
  if not retryable or attempt >= pgsched_internal.attempts_allowed(options) then
    return;
  end if;
  -- Where nothing is drawn there is no wait. Whole microseconds, as workers count them: next to a bound a part of one decides.
  delay := coalesce(round(pgsched_internal.backoff(options, attempt, drawn) * 1000000) / 1000000, 0);
  if retry_after is not null then
    delay := greatest(delay, least(extract(epoch from retry_after), 86400));
  end if;
  late := pgsched_internal.lateness(options, attempt + 1, age + delay);
  if late.status is null then
    status := 'retrying';
  else
    status := late.status;
    delay := null;
    reason := left(reason || '; ' || late.reason, 2000);
  end if;
end $$;
comment on function pgsched_internal.after_failure(jsonb, integer, double precision, text, boolean, interval, double precision)
  is 'What becomes of an execution after the failed attempt of this number, so many seconds after its instant: retrying after a
delay in seconds, or an end; with the reason that is kept.';
