-- Replaying one of many dead letters.

-- One of these cannot be scheduled, such as where its queue is gone: it is passed over, and stays a dead letter. One that
-- its client has locked, or whose key, is not waited for.
create or replace function pgsched_internal.replay_letter(asked pgsched.bulk_changes, id uuid, finished_at timestamptz) returns text
  language plpgsql volatile set lock_timeout = '5ms' as $$
declare
  letter pgsched.history;
begin
  select h.* into letter from pgsched.history h
   where h.id = replay_letter.id and h.finished_at = replay_letter.finished_at and h.status = 'failed' limit 1 for update skip locked;
  if not found then
    select k.* into letter from pgsched_internal.kept_dead_letters k where k.id = replay_letter.id for update skip locked;
  end if;
  if not found and (exists (select from pgsched.history h where h.id = replay_letter.id and h.finished_at = replay_letter.finished_at
                               and h.status = 'failed' and h.dealt_with_at is null)
                    or exists (select from pgsched_internal.kept_dead_letters k where k.id = replay_letter.id and k.dealt_with_at is null)) then
    return 'locked';
  elsif letter.id is null or letter.dealt_with_at is not null
     or pgsched_internal.revive(letter, asked.paced_until, asked.target, null, null, asked.actor) is null then
    return 'passed over';
  end if;
  return 'changed';
exception when others then
  if sqlstate = 'PS014' then
    return 'full';
  elsif not pgsched_internal.is_of_a_row(sqlstate) then
    raise;
  elsif pgsched_internal.is_a_lock(sqlstate) then
    return 'locked';
  end if;
  raise warning 'dead letter % is passed over: %', replay_letter.id, sqlerrm;
  return 'passed over';
end $$;
comment on function pgsched_internal.replay_letter(pgsched.bulk_changes, uuid, timestamptz)
  is 'Replays one of the dead letters of a replay of many: changed, passed over, locked where somebody has it, or full where its queue is.';
