-- Checks of scheduling requests.

create or replace function pgsched_internal.setting(name text, fallback text) returns text
  language sql stable parallel safe
  as $$ select coalesce(nullif(current_setting('pgsched.' || name, true), ''), fallback) $$;
comment on function pgsched_internal.setting(text, text)
  is 'The value of a setting, such as pgsched.key_retention, from SET, ALTER ROLE or ALTER DATABASE; the fallback if it
is not set.';

create or replace function pgsched_internal.check_zone(timezone text) returns boolean
  language plpgsql stable parallel safe as $$
begin
  if timezone is null or not exists (select from pg_catalog.pg_timezone_names z where z.name = timezone) then
    return pgsched_internal.refuse('PS002', format('there is no time zone %L', timezone), 'write an IANA name such as Europe/Berlin or UTC');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_zone(text)
  is 'True for an IANA time zone that the server knows; raises PS002 otherwise.';

create or replace function pgsched_internal.check_instant(fire_at timestamptz) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if fire_at is null or fire_at not between '0001-01-01 00:00+00' and '9999-12-31 00:00+00' then
    return pgsched_internal.refuse('PS002', 'fire_at must be an instant between the years 1 and 9999',
      'give fire_at => now() + interval ''10 minutes''');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_instant(timestamptz)
  is 'True for an instant that all callers and workers can represent; raises PS002 for any other, including infinity.';

create or replace function pgsched_internal.check_on_conflict(on_conflict text, key text, recurs boolean) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  if on_conflict is null or on_conflict not in ('replace', 'keep', 'reject', 'debounce') then
    return pgsched_internal.refuse('PS000', format('on_conflict cannot be %L', on_conflict), 'write replace, keep, reject or debounce');
  elsif key is null then
    return pgsched_internal.refuse('PS000', 'on_conflict needs a key', 'give "key" as well, or leave "on_conflict" out');
  elsif on_conflict = 'debounce' and recurs then
    return pgsched_internal.refuse('PS000', 'debounce is only for a single execution, not for a job', 'write replace, keep or reject');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_on_conflict(text, text, boolean)
  is 'True if on_conflict is valid here; raises PS000 with a hint otherwise.';

-- A queue: target needs no channel, because consumers decide what they pull.
create or replace function pgsched_internal.check_channel(client text, target text) returns boolean
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  channel constant text := case lower(split_part(target, ':', 1)) when 'https' then 'http' else lower(split_part(target, ':', 1)) end;
  channels text[];
begin
  select c.channels into channels from pgsched.clients c where c.client_id = client;
  if channel = 'notify' and (channels is null or target <> all (channels))
      and exists (select from pgsched.clients c where c.client_id <> client and target = any (c.channels)) then
    return pgsched_internal.refuse('PS012', format('client %L is not allowed to notify %s, which is another client''s channel', client, target),
      'notify a channel of your own, or ask an operator to add this one to your channels');
  end if;
  return channels is null or channel = 'queue' or channel = any (channels) or target = any (channels)
    or pgsched_internal.refuse('PS012', format('client %L is not allowed to use %s targets', client, channel),
         format('its channels are %s; pgsched.set_client changes them', array_to_string(channels, ', ')));
end $$;
comment on function pgsched_internal.check_channel(text, text)
  is 'True if a client may use a target; raises PS012 otherwise.';

create or replace function pgsched_internal.job_checked() returns trigger
  language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.check_channel(new.client_id, new.target);
  if new.options ? 'body' then
    perform pgsched_internal.check_body(new.payload, new.options -> 'body');
  end if;
  return new;
end $$;
comment on function pgsched_internal.job_checked()
  is 'Rejects a job if its client may not use its target, or if its payload cannot be encoded as its body option says.';
create or replace trigger job_checked before insert or update of client_id, target, payload, options on pgsched.jobs
  for each row execute function pgsched_internal.job_checked();

create or replace function pgsched_internal.check_request(
  null_given text, target text, fire_at timestamptz, delay interval, cron text, every interval, timezone text, key text,
  on_conflict text, rules jsonb, gap text, overlap text, queue text, after text[], after_outcome text, instant timestamptz
) returns void language plpgsql stable as $$
declare
  recurs constant boolean := num_nonnulls(cron, every) > 0;
begin
  if null_given is not null and num_nonnulls(fire_at, delay, cron, every) = 0 then
    perform pgsched_internal.refuse('PS002', format('%s is null', null_given),
      'give it a value, or leave it out; if none of "fire_at", "delay", "cron" and "every" is given, the execution fires now');
  elsif num_nonnulls(fire_at, delay, cron, every) > 1 then
    perform pgsched_internal.refuse('PS002', '"fire_at", "delay", "cron" and "every" cannot be combined', 'give at most one of them; if none is given, the execution fires now');
  elsif timezone is not null and cron is null and (every is null or rules is null) then
    perform pgsched_internal.refuse('PS002', '"timezone" needs "cron"', 'leave "timezone" out, and give "fire_at" its own offset, such as ''2026-03-01 09:00+01''');
  elsif delay < interval '0' then
    perform pgsched_internal.refuse('PS002', 'the delay is negative', 'give delay => ''10 minutes'', or fire_at for an instant in the past');
  elsif target is null then
    perform pgsched_internal.check_target(target);
  elsif num_nonnulls(rules, gap, overlap) > 0 and not recurs then
    perform pgsched_internal.refuse('PS002', '"rules", "gap" and "overlap" need "cron" or "every"', 'leave them out, or give cron => or every =>');
  elsif num_nonnulls(gap, overlap) > 0 and cron is null and rules is null then
    perform pgsched_internal.refuse('PS002', '"gap" and "overlap" need "cron"', 'leave them out, or give cron =>');
  elsif on_conflict is distinct from 'replace' then
    perform pgsched_internal.check_on_conflict(on_conflict, key, recurs);
  end if;
  if queue <> 'default' or target = 'queue:' then
    perform pgsched_internal.check_pulled(target, queue);
  end if;
  if after is not null or after_outcome is distinct from 'success' then
    perform pgsched_internal.check_after(after, after_outcome, on_conflict, coalesce(cron, every::text));
  end if;
  perform pgsched_internal.check_instant(instant);
end $$;
comment on function pgsched_internal.check_request(text, text, timestamptz, interval, text, interval, text, text, text, jsonb, text, text,
                                             text, text[], text, timestamptz)
  is 'Raises PS000, PS001 or PS002 with a hint if the arguments of a request do not fit together.
pgsched.schedule_outcome skips this check for simple requests.';
