-- Limits on JSON values: their length as text, their depth, and the number of digits of their numbers.

-- Collects the numbers in an array, because jsonb_path_query moves all remaining results each time it returns a result.
create or replace function pgsched_internal.numbers_in(value jsonb) returns setof jsonb language sql immutable parallel safe as $$
  select * from jsonb_array_elements(jsonb_path_query_array(value, 'strict $.** ? (@.type() == "number")'))
$$;
comment on function pgsched_internal.numbers_in(jsonb) is 'All numbers in a value, at any depth.';

-- jsonb stores only the nonzero digits of a number and its magnitude, so a few bytes can stand for a hundred thousand
-- characters of text. Writing such a number takes a millisecond and cannot be interrupted. Its binary form
-- (numeric_send) tells how long the text would be.
create or replace function pgsched_internal.digits_in(value jsonb) returns bigint language sql immutable parallel safe as $$
  select coalesce(sum(case when get_byte(n.sent, 2) < 128 then 4 * (get_byte(n.sent, 2) * 256 + get_byte(n.sent, 3)) else 0 end
                      + get_byte(n.sent, 6) * 256 + get_byte(n.sent, 7)), 0)
    from (select numeric_send(found::numeric) as sent
            from pgsched_internal.numbers_in(value) as found offset 0) n
$$;
comment on function pgsched_internal.digits_in(jsonb)
  is 'A lower bound on the length of a value''s numbers as text, at most four characters too low per number.';

-- The text of a value has at least a quarter as many bytes as its jsonb, so a jsonb of more than four times the limit
-- is rejected at once. In a smaller value, the numbers are scanned only if the value has more than 20 kB, or more than
-- 2 kB and a number of at least 1e1000. In all other cases, writing the text is faster than the scan.
create or replace function pgsched_internal.written_out(value jsonb, most integer) returns text
  language plpgsql immutable parallel safe as $$
declare
  plain constant jsonb := case when pg_column_compression(value) is null then value else jsonb_build_array(value) -> 0 end;
  stored constant integer := pg_column_size(plain);
  written text;
begin
  if stored > 4 * most + 1000
     or (stored > 20000 or stored > 2000 and coalesce(plain @@ '$.** >= 1e1000 || $.** <= -1e1000', false))
        and pgsched_internal.digits_in(plain) > most then
    return null;
  end if;
  written := plain::text;
  return case when octet_length(written) <= most then written end;
end $$;
comment on function pgsched_internal.written_out(jsonb, integer)
  is 'A value as text; null if the text would be longer than the given number of bytes. Never writes much more.';

create or replace function pgsched_internal.check_length(value jsonb, name text, most integer) returns boolean
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return value is null or pgsched_internal.written_out(value, most) is not null
    or pgsched_internal.refuse('PS000', format('%s over the limit of %s KiB', name, most / 1024), 'write a shorter value');
end $$;
comment on function pgsched_internal.check_length(jsonb, text, integer)
  is 'True if a value is at most the given number of bytes long as text; raises PS000 otherwise.';

create or replace function pgsched_internal.fault_of_json(value jsonb) returns text
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  written constant text := pgsched_internal.written_out(value, 1048576);
begin
  if written is null then
    return 'is over the limit of 1 MiB';
  elsif jsonb_path_exists(value, 'strict $.**{100} ? (@.type() == "array" || @.type() == "object")') then
    return 'is nested more than 100 levels deep';
  elsif octet_length(written) > 308 and strpos(translate(written, '123456789.', '0000000000'), repeat('0', 309)) > 0
        and exists (select from pgsched_internal.numbers_in(value) as n (number)
                     where abs(n.number::numeric) >= 1.7976931348623158e308 or length(replace(abs(n.number::numeric)::text, '.', '')) > 10000) then
    return 'has a number over 1.797e308 or with more than 10000 digits';
  end if;
  return null;
end $$;
comment on function pgsched_internal.fault_of_json(jsonb)
  is 'Why a value cannot be a payload or result: its size, its depth, or the size of a number. Null if it can.';

create or replace function pgsched_internal.check_payload(payload jsonb) returns boolean
  language plpgsql immutable parallel safe security definer set search_path = pg_catalog, pg_temp as $$
declare
  fault constant text := pgsched_internal.fault_of_json(payload);
begin
  return fault is null
    or pgsched_internal.refuse('PS003', 'the payload ' || fault, 'store the data elsewhere and schedule a reference to it');
end $$;
comment on function pgsched_internal.check_payload(jsonb)
  is 'True for a payload of at most 1 MiB as text and 100 levels, whose numbers are at most 1.797e308 and have at most
10,000 digits; raises PS003 otherwise.';

create or replace function pgsched_internal.check_result(result jsonb, hint text) returns boolean
  language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  fault constant text := case when pg_column_size(result) > 800 or pg_column_compression(result) is not null or octet_length(result::text) > 308
                            then pgsched_internal.fault_of_json(result) end;
begin
  return fault is null or pgsched_internal.refuse('PS003', 'the result ' || fault, hint);
end $$;
comment on function pgsched_internal.check_result(jsonb, text)
  is 'True for a result within the limits of a payload; raises PS003 otherwise.';
