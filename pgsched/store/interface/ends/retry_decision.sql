-- Decides what happens to an execution after an attempt. Workers and consumers only report the attempt's outcome. If a
-- lease ran out with its worker, live/reap.sql decides instead.

create or replace function pgsched_internal.seconds_in(options jsonb, name text) returns double precision
  language sql immutable parallel safe as $$ select extract(epoch from pgsched_internal.length_of(options ->> name))::float8 $$;
comment on function pgsched_internal.seconds_in(jsonb, text)
  is 'The value of a duration option in seconds; null if it is not given.';

create or replace function pgsched_internal.default_attempts() returns integer language sql immutable parallel safe as 'select 22';
comment on function pgsched_internal.default_attempts()
  is 'The default number of attempts.';

-- A list of waits determines the number of attempts, even if the defaults also set a number.
create or replace function pgsched_internal.laid_over(options jsonb, defaults jsonb) returns jsonb
  language sql immutable parallel safe as $$
  select coalesce(defaults, '{}') || coalesce(options, '{}')
         || case when pgsched_internal.attempts_in(options) is not null
                 then jsonb_build_object('max_attempts', pgsched_internal.attempts_in(options)) else '{}' end
$$;
comment on function pgsched_internal.laid_over(jsonb, jsonb)
  is 'These options, completed with the defaults that they do not override.';

-- The age of a backfill run, which is late on purpose, is limited only by its own options.
create or replace function pgsched_internal.options_of(own jsonb, client_id text, partition smallint, plan integer) returns jsonb
  language plpgsql stable parallel safe as $$
declare
  of_client jsonb;
  of_queue jsonb;
begin
  select (select c.options from pgsched.clients c where c.client_id = options_of.client_id),
         (select q.options from pgsched.queues q where q.first_partition = pgsched_internal.first_partition_of(options_of.partition)) into of_client, of_queue;
  if coalesce(of_client, of_queue) is null then
    return coalesce(own, '{}');
  end if;
  of_client := pgsched_internal.laid_over(of_client, of_queue);
  return pgsched_internal.laid_over(own, case when plan = 0 then of_client - array['relevant_for', 'deadline', 'max_retry_age']
                                              else of_client end);
end $$;
comment on function pgsched_internal.options_of(jsonb, text, smallint, integer)
  is 'The effective options of an execution: its own options, completed with the defaults of its client, and then with
those of its queue.';

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
    reason := format('not started within %s of its scheduled time', options ->> 'relevant_for');
  elsif age >= deadline then
    status := 'failed';
    reason := format('not started before its deadline, %s after its scheduled time', options ->> 'deadline');
  elsif attempt > 1 and age > max_retry_age then
    status := 'failed';
    reason := format('not retried: more than %s (max_retry_age) after its scheduled time', options ->> 'max_retry_age');
  end if;
end $$;
comment on function pgsched_internal.lateness(jsonb, integer, double precision)
  is 'The status and the reason with which an execution ends because it is too late for the attempt with this number;
nulls if the attempt may start. age is the number of seconds since the execution''s instant.';

-- drawn is a random number from 0 to 1 that spreads the wait; null means no wait. Logarithms are compared with the
-- maximum, because the power itself could overflow.
create or replace function pgsched_internal.backoff(options jsonb, attempt integer, drawn double precision) returns double precision
  language plpgsql immutable parallel safe as $$
declare
  given constant jsonb := coalesce(options -> 'backoff', '{}');
  initial double precision;
  factor double precision;
  maximum double precision;
begin
  if drawn is null then
    return 0;
  elsif jsonb_typeof(given) = 'array' then
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
  is 'The number of seconds to wait after this attempt has failed. Waits from a list are used unchanged; others are
multiplied by a factor from 0.5 to 1, which the random number drawn (0 to 1) decides.';

-- If the options do not limit how long an execution can be postponed, a postponement to more than a week after its
-- instant counts as a failed attempt. Without this limit, a handler could postpone forever. If drawn is null, there is
-- no backoff. The wait is a whole number of microseconds, so that a fraction cannot decide whether it exceeds a limit.
create or replace function pgsched_internal.decide(
  outcome text, error text, retryable boolean, wait double precision, attempt integer, age double precision, own jsonb, client_id text,
  partition smallint, plan integer, drawn double precision default random(),
  out status pgsched.execution_status, out delay double precision, out reason text
) language plpgsql volatile as $$
declare
  asked constant double precision := least(greatest(wait, case outcome when 'postponed' then 1 else 0 end), 86400);
  options jsonb;
  late record;
begin
  reason := left(error, 2000);
  if outcome not in ('failed', 'postponed', 'late') or outcome = 'failed' and not retryable then
    status := outcome;
    return;
  end if;
  options := pgsched_internal.options_of(own, client_id, partition, plan);
  if outcome = 'late' then  -- if the worker's clock is slightly ahead, the execution is claimed again
    late := pgsched_internal.lateness(options, attempt, age);
    status := coalesce(late.status, 'scheduled');
    delay := case when late.status is null then 0 end;
    reason := late.reason;
  elsif outcome = 'postponed' and age + asked <= 604800 then
    status := 'scheduled';
    delay := asked;
  elsif attempt >= coalesce(pgsched_internal.attempts_in(options), pgsched_internal.default_attempts()) then
    status := 'failed';
  else
    status := 'retrying';
    delay := greatest(asked, coalesce(round(pgsched_internal.backoff(options, attempt, drawn) * 1000000) / 1000000, 0));
  end if;
  if delay > 0 and options ?| array['relevant_for', 'deadline', 'max_retry_age'] then
    late := pgsched_internal.lateness(options, attempt + 1, age + delay);
    if late.status is not null then
      status := late.status;
      delay := null;
      reason := left(reason || '; ' || late.reason, 2000);
    end if;
  end if;
end $$;
comment on function pgsched_internal.decide(text, text, boolean, double precision, integer, double precision, jsonb, text, smallint, integer,
                                            double precision)
  is 'Decides what happens to an execution by the outcome of its attempt: failed; postponed, by the target; late, if it
was too late to begin; or the status of a final end. age is the number of seconds since the execution''s instant.
Returns the new status, the number of seconds until the next attempt (null if the execution ends), and the reason.';
