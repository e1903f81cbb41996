-- Checks of a job's recurrence that are possible in SQL, for example that a cron expression names a day that one of its
-- months has. Only a worker can decide whether an expression ever occurs. If it never does, the worker marks the job as
-- invalid, with the reason.

create or replace function pgsched_internal.has_no_such_day(cron text) returns boolean language sql immutable parallel safe as $$
  select cron ~* '[[:space:]]3[01](,3[01])*[[:space:]]+(2|02|FEB)[[:space:]]+[*?][[:space:]]*$'
      or cron ~* '[[:space:]]31[[:space:]]+(0?[2469]|11|FEB|APR|JUN|SEP|NOV)(,(0?[2469]|11|FEB|APR|JUN|SEP|NOV))*[[:space:]]+[*?][[:space:]]*$'
$$;
comment on function pgsched_internal.has_no_such_day(text)
  is 'True if a cron expression names only days that none of its months has, such as February 30.';

create or replace function pgsched_internal.check_cron(cron text) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  fields text[] := regexp_split_to_array(btrim(upper(left(cron, 257))), '[[:space:]]+');
  names constant text[] := array['second', 'minute', 'hour', 'day-of-month', 'month', 'day-of-week'];
  lows constant int[] := array[0, 0, 0, 1, 1, 0];
  highs constant int[] := array[59, 59, 23, 31, 12, 7];
  item text;
  number text;
  at int;
begin
  if cron is null or fields[1] ~ '^@(HOURLY|DAILY|MIDNIGHT|WEEKLY|MONTHLY|YEARLY|ANNUALLY)$' and cardinality(fields) = 1 then
    return true;
  elsif cardinality(fields) not in (5, 6) or length(cron) > 256 or fields[1] like '@%' then
    return pgsched_internal.refuse('PS002', format('%L is not a cron expression', left(cron, 100)),
      'write five fields (minute hour day month weekday), six with seconds first, or an alias such as @daily');
  end if;
  if '?' = any (fields) and fields[cardinality(fields)] ~ '(^|[^#/0-9])[0-9]' then
    return pgsched_internal.refuse('PS002', format('cron %L has numbers for days of the week together with ?', left(cron, 100)),
      'write names, such as MON-FRI, because Sunday may be 0 or 1 in expressions with ?');
  end if;
  for n in 1..cardinality(fields) loop
    at := 6 - cardinality(fields) + n;
    foreach item in array string_to_array(fields[n], ',') loop
      if fields[n] = '?' and at not in (4, 6) then
        return pgsched_internal.refuse('PS002', format('cron %L has ? as %s', left(cron, 100), names[at]),
          'write * instead; if the sixth field is a year, leave it out');
      elsif item !~ '^([*]|H([(][0-9]{1,2}-[0-9]{1,2}[)])?|([0-9]{1,2}|[A-Z]{3})(-([0-9]{1,2}|[A-Z]{3}|L))?)(/[0-9]{1,3})?$'
         and fields[n] <> '?'
         and not (at = 4 and item ~ '^([0-9]{1,2}W|LW?|L-[0-9]{1,2})$')
         and not (at = 6 and item ~ '^(([0-9]|[A-Z]{3})#[1-5]|L[0-7])$') then
        return pgsched_internal.refuse('PS002', format('cron %s %L is not valid', names[at], left(item, 64)),
          format('write a number from %s to %s, a list (1,15), a range (1-5) or a step (*/10)', lows[at], highs[at]));
      end if;
      for number in select m[1] from regexp_matches(regexp_replace(item, '[/#].*$', ''), '([0-9]+)', 'g') m loop
        if number::int not between lows[at] and highs[at] then
          return pgsched_internal.refuse('PS002', format('cron %s %L is out of range', names[at], left(item, 64)),
            format('write numbers from %s to %s', lows[at], highs[at]));
        end if;
      end loop;
    end loop;
  end loop;
  if pgsched_internal.has_no_such_day(cron) then
    return pgsched_internal.refuse('PS002', format('cron %L never occurs', left(cron, 100)),
      'write a day that one of the months has, or L for the last day');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_cron(text)
  is 'True for a valid cron expression; raises PS002 with a hint otherwise.';

-- Accepts the same forms as read_instant in domain/schedule.py; a test compares the two.
create or replace function pgsched_internal.is_instant(value jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  words constant text := case jsonb_typeof(value) when 'string' then btrim(value #>> '{}', E' \t\r\n') end;
begin
  return coalesce(words ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?([Zz]|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)$'
     and words::timestamptz between '0001-01-01 00:00+00' and '9999-12-31 23:59:59.999999+00', false);
exception when others then
  return false;
end $$;
comment on function pgsched_internal.is_instant(jsonb)
  is 'True for JSON text that is an instant, such as "2026-03-01T09:00:00+01:00".';

create or replace function pgsched_internal.is_day(value text) returns boolean
  language plpgsql immutable parallel safe as $$
begin
  return coalesce(value ~ '^[0-9]{4}-[0-9][0-9]-[0-9][0-9]$' and value::date between '1971-01-01' and '8989-12-31', false);
exception when others then
  return false;
end $$;
comment on function pgsched_internal.is_day(text) is 'True for text that is a date, such as 2026-12-25.';

create or replace function pgsched_internal.check_exclusion(exclusion jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  words constant text := case jsonb_typeof(exclusion) when 'string' then btrim(exclusion #>> '{}', E' \t\r\n') end;
  ends constant text[] := array(select btrim(part, E' \t\r\n') from unnest(string_to_array(words, '/')) with ordinality e(part, place) order by place);
begin
  if words ~ '[[:space:]]' and words !~ '^[0-9]{4}-' or words like '@%' then
    return pgsched_internal.check_cron(words);
  elsif words is null or not (pgsched_internal.is_day(ends[1]) and pgsched_internal.is_day(coalesce(ends[2], ends[1])) and coalesce(ends[2], ends[1])::date - ends[1]::date between 0 and 3653
          or cardinality(ends) = 2 and pgsched_internal.is_instant(to_jsonb(ends[1])) and pgsched_internal.is_instant(to_jsonb(ends[2]))
             and ends[1]::timestamptz < ends[2]::timestamptz)
        or cardinality(ends) > 2 then
    return pgsched_internal.refuse('PS002', format('"exclude" cannot contain %s', left(exclusion::text, 100)),
      'write a date (2026-12-25), a range (2026-12-24/2026-12-31) of dates or instants, or a cron expression');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_exclusion(jsonb)
  is 'True for a valid exclusion: a date, a range of dates or instants, or a cron expression. Raises PS002 with a hint
otherwise.';

create or replace function pgsched_internal.check_spec(spec jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  given constant text[] := (case jsonb_typeof(spec) when 'object' then array(select jsonb_object_keys(spec)) end);
  kind constant text := (select min(k) from unnest(given) k where k in ('cron', 'every', 'fire_at') having count(*) = 1);
  companions constant jsonb := '{"cron": ["cron", "timezone", "gap", "overlap"], "every": ["every", "anchor"], "fire_at": ["fire_at"]}';
begin
  if kind is null or not companions -> kind @> to_jsonb(given)
     or spec ? 'every' and not pgsched_internal.is_duration(spec -> 'every', '1 s', '3653 days')
     or spec ? 'anchor' and not pgsched_internal.is_instant(spec -> 'anchor')
     or spec ? 'fire_at' and not pgsched_internal.is_instant(spec -> 'fire_at')
     or spec ? 'cron' and jsonb_typeof(spec -> 'cron') <> 'string'
     or spec ? 'timezone' and jsonb_typeof(spec -> 'timezone') <> 'string'
     or spec ? 'gap' and not coalesce(spec ->> 'gap' in ('shift', 'skip'), false)
     or spec ? 'overlap' and not coalesce(spec ->> 'overlap' in ('first', 'second', 'both'), false) then
    return pgsched_internal.refuse('PS002', format('"also" cannot contain %s', left(spec::text, 100)),
      'write {"cron": "0 9 * * MON", "timezone": "Europe/Berlin"}, {"every": "1h"} or {"fire_at": "2026-03-01T09:00:00Z"}');
  end if;
  return pgsched_internal.check_cron(spec ->> 'cron');
end $$;
comment on function pgsched_internal.check_spec(jsonb)
  is 'True for a valid additional schedule of a job; raises PS002 with a hint otherwise.';

create or replace function pgsched_internal.fault_of_values(rules jsonb, out problem text, out hint text)
  language sql immutable parallel safe as $$
  select f.problem, f.hint from (
    select format('"%s" cannot be %s', r.name, left((rules -> r.name)::text, 100)), format('write one of %s', array_to_string(r.choices, ', '))
      from (values ('on_overlap', array['allow', 'skip', 'queue_one', 'queue_all', 'cancel_running']),
                   ('on_missed', array['latest', 'all', 'skip'])) as r(name, choices)
     where rules ? r.name and (jsonb_typeof(rules -> r.name) <> 'string' or rules ->> r.name <> all (r.choices))
    union all
    select format('"%s" cannot be %s', r.name, left((rules -> r.name)::text, 100)),
           format('write a duration from %s to %s, such as "5m" or "PT5M"', r.low, r.high)
      from (values ('jitter', '1 ms', '24 hours'), ('window', '1 s', '24 hours'), ('catch_up', '1 s', '3653 days'),
                   ('delete_after', '1 s', '3653 days')) as r(name, low, high)
     where rules ? r.name and not pgsched_internal.is_duration(rules -> r.name, r.low::interval, r.high::interval)
    union all
    select format('"%s" cannot be %s', r.name, left((rules -> r.name)::text, 100)), format('write a whole number from 1 to %s', r.high)
      from (values ('max_runs', 1000000000), ('pause_after', 1000)) as r(name, high)
     where rules ? r.name and case when jsonb_typeof(rules -> r.name) = 'number' and rules ->> r.name ~ '^[1-9][0-9]{0,9}$'
                                   then (rules ->> r.name)::bigint > r.high else true end
    union all
    select format('"%s" cannot be %s', name, left((rules -> name)::text, 100)), 'write an instant with an offset, such as 2026-03-01T09:00:00Z'
      from unnest(array['starts_at', 'ends_at', 'anchor']) as name
     where rules ? name and not pgsched_internal.is_instant(rules -> name)
    union all
    select '"after_completion" must be true or false', 'write {"after_completion": true}'
     where rules ? 'after_completion' and jsonb_typeof(rules -> 'after_completion') <> 'boolean'
    union all
    select 'jitter and window cannot be combined', 'leave one of them out' where rules ? 'jitter' and rules ? 'window'
  ) f(problem, hint) limit 1
$$;
comment on function pgsched_internal.fault_of_values(jsonb)
  is 'The first problem found in the rules that have a single value, and what to write instead; nulls if there is
none.';

create or replace function pgsched_internal.check_lists(rules jsonb) returns boolean
  language plpgsql immutable parallel safe as $$
declare
  also constant jsonb := rules -> 'also';
  exclude constant jsonb := rules -> 'exclude';
begin
  if jsonb_typeof(also) <> 'array' or jsonb_array_length(also) not between 1 and 20 then
    return pgsched_internal.refuse('PS002', '"also" must be a list of 1 to 20 schedules', 'write {"also": [{"cron": "0 9 * * SAT"}]}');
  elsif jsonb_typeof(exclude) <> 'array' or jsonb_array_length(exclude) not between 1 and 1000 then
    return pgsched_internal.refuse('PS002', '"exclude" must be a list of 1 to 1000 dates, ranges and cron expressions',
      'write {"exclude": ["2026-12-25"]}');
  elsif (select count(*) from jsonb_array_elements_text(exclude) as item where btrim(item, E' \t\r\n') !~ '^[0-9]{4}-[0-9]') > 20 then
    return pgsched_internal.refuse('PS002', '"exclude" has over 20 cron expressions', 'merge some of them with lists and ranges');
  end if;
  perform pgsched_internal.check_spec(spec) from jsonb_array_elements(also) as spec;
  perform pgsched_internal.check_exclusion(exclusion) from jsonb_array_elements(exclude) as exclusion;
  return true;
end $$;
comment on function pgsched_internal.check_lists(jsonb)
  is 'True for valid additional schedules and excluded times of a job; raises PS002 with a hint otherwise.';

create or replace function pgsched_internal.check_rules(rules jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  known constant text[] := array['also', 'exclude', 'starts_at', 'ends_at', 'max_runs', 'jitter', 'window', 'anchor', 'after_completion',
    'on_overlap', 'on_missed', 'catch_up', 'pause_after', 'delete_after', 'after'];
  unknown text;
  fault record;
begin
  if jsonb_typeof(rules) <> 'object' then
    return pgsched_internal.refuse('PS002', 'rules must be a JSON object', 'write rules => ''{"on_overlap": "skip"}''');
  elsif pgsched_internal.written_out(rules, 131072) is null then
    return pgsched_internal.refuse('PS002', 'the rules are over the limit of 128 KiB', 'write ranges of dates, or a cron expression');
  end if;
  select name into unknown from jsonb_object_keys(rules) as name where name <> all (known) limit 1;
  if unknown is not null then
    return pgsched_internal.refuse('PS002', format('there is no rule %L', unknown), format('the rules are %s', array_to_string(known, ', ')));
  end if;
  select f.problem, f.hint into fault from pgsched_internal.fault_of_values(rules) f;
  if fault.problem is not null then
    return pgsched_internal.refuse('PS002', fault.problem, fault.hint);
  end if;
  if rules ? 'after' and rules -> 'after_completion' = 'true' then
    return pgsched_internal.refuse('PS002', 'the rules "after" and "after_completion" cannot be combined', 'leave one of them out');
  elsif rules ? 'after' then
    perform pgsched_internal.check_after_rule(rules -> 'after');
  end if;
  return pgsched_internal.check_lists(rules);
end $$;
comment on function pgsched_internal.check_rules(jsonb)
  is 'True for valid recurrence rules; raises PS002 with a hint otherwise.';

create or replace function pgsched_internal.check_labels(labels jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgsched_internal.check_length(labels, 'the labels are', 65536);
  if jsonb_typeof(labels) <> 'object' or jsonb_path_exists(labels, 'strict $.* ? (@.type() != "string")', silent => true)
     or exists (select from jsonb_each_text(case jsonb_typeof(labels) when 'object' then labels else '{}' end) l
                 where length(l.key) not between 1 and 63 or l.key like '%=%' or length(l.value) > 200)
     or (select count(*) from jsonb_object_keys(case jsonb_typeof(labels) when 'object' then labels else '{}' end)) > 32 then
    return pgsched_internal.refuse('PS000',
      'labels must be an object of at most 32 strings of up to 200 characters, with names of 1 to 63 characters without =', 'write labels => ''{"team": "payments"}''');
  end if;
  return true;
end $$;
comment on function pgsched_internal.check_labels(jsonb)
  is 'True for valid labels, an object of strings; raises PS000 with a hint otherwise.';
