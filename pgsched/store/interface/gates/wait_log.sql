-- The waits of an execution: which gates have held it, and from when to when. The last 20 waits are kept in the
-- execution's row, which is written anyway when the execution is held or released.

create or replace function pgsched_internal.held(waits jsonb, gate text, instant timestamptz) returns jsonb language sql stable parallel safe
  return case when waits -> -1 ->> 'held_by' = gate and coalesce(waits -> -1 -> 'until', to_jsonb(pgsched.now())) = to_jsonb(pgsched.now())
              then waits #- '{-1,until}'
              else case when jsonb_array_length(waits) >= 20 then waits - 0 else coalesce(waits, '[]') end
                   || jsonb_build_object('held_by', gate, 'since',
                        case when isfinite(instant) then greatest(instant, pgsched.now()) else pgsched.now() end)
         end;
comment on function pgsched_internal.held(jsonb, text, timestamptz)
  is 'The waits of an execution that this gate begins to hold at this instant. If the same gate released it in this
transaction, that wait continues.';

create or replace function pgsched_internal.waited(waits jsonb) returns jsonb language sql stable parallel safe
  return case when waits -> -1 -> 'until' is null then jsonb_set(waits, '{-1,until}', to_jsonb(pgsched.now())) else waits end;
comment on function pgsched_internal.waited(jsonb)
  is 'An execution''s waits, with the last one ending now; null if the execution has never waited.';
