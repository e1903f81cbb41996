-- Replaying many dead letters: workers advance each replay by a chunk at a time, at its pace.

-- One of these cannot be scheduled, such as where its queue is gone: it is passed over, and stays a dead letter. One that
-- its client has locked, or whose key, is not waited for.
create or replace function pgsched_internal.replay_letter(asked pgsched.replays, id uuid, finished_at timestamptz) returns text
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
  return 'replayed';
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
comment on function pgsched_internal.replay_letter(pgsched.replays, uuid, timestamptz)
  is 'Replays one of the dead letters of a replay of many: replayed, passed over, locked where somebody has it, or full where its queue is.';

-- What somebody has locked is come back to.
create or replace function pgsched_internal.replay_or_come_back(asked pgsched.replays, id uuid, finished_at timestamptz, again boolean)
  returns text language plpgsql volatile as $$
declare
  outcome constant text := pgsched_internal.replay_letter(asked, replay_or_come_back.id, replay_or_come_back.finished_at);
begin
  if outcome = 'locked' then
    insert into pgsched_internal.letters_to_come_back_to (replay_id, id, finished_at)
    values (asked.id, replay_or_come_back.id, replay_or_come_back.finished_at)
        on conflict on constraint letters_to_come_back_to_pkey do update set tried_at = clock_timestamp();
  elsif again and outcome <> 'full' then
    delete from pgsched_internal.letters_to_come_back_to l where l.replay_id = asked.id and l.id = replay_or_come_back.id;
  end if;
  return outcome;
end $$;
comment on function pgsched_internal.replay_or_come_back(pgsched.replays, uuid, timestamptz, boolean)
  is 'As replay_letter, and notes a dead letter that is locked as one to come back to; again says that it was noted before.';

-- First those that were locked when it was their turn, so many of them in each chunk, then the next.
create or replace function pgsched_internal.replay_chunk(
  asked inout pgsched.replays, room integer, most integer, out outcomes text[], out looked integer
) language plpgsql volatile as $$
declare
  letter record;
  outcome text;
begin
  outcomes := '{}';
  looked := 0;
  for letter in
    (select l.id, l.finished_at, true as named, true as again from pgsched_internal.letters_to_come_back_to l
      where l.replay_id = asked.id order by l.tried_at limit 10)
    union all
    (select f.id, f.finished_at, f.named, false
       from pgsched_internal.look_through_dead_letters(asked.filter, asked.clients, asked.reached, asked.created_at, 1000) f)
  loop
    if letter.named then
      outcome := pgsched_internal.replay_or_come_back(asked, letter.id, letter.finished_at, letter.again);
      outcomes := outcomes || outcome;
      exit when outcome = 'full';  -- it goes on from here once there is room
      if outcome = 'replayed' then
        asked.paced_until := asked.paced_until + make_interval(secs => 1 / asked.rate);
        room := room - 1;
      end if;
    end if;
    if not letter.again then
      looked := looked + 1;
      asked.reached := letter.id;
    end if;
    exit when room <= 0 or cardinality(outcomes) >= most;
  end loop;
end $$;
comment on function pgsched_internal.replay_chunk(pgsched.replays, integer, integer)
  is 'Replays the next dead letters of a replay of many: how far it is then, what each came to, and how many were looked at.';

-- Two seconds ahead of its pace at most, so that little is left to run once it is cancelled. The next chunk begins behind what this
-- one has looked at, in the same transaction: a crash between two loses and doubles nothing.
create or replace function pgsched_internal.advance_replay(
  id uuid, most integer, out replayed integer, out more boolean, out finished boolean
) language plpgsql volatile set enable_sort = off set enable_hashjoin = off as $$
declare
  asked pgsched.replays;
  chunk record;
  room integer;
  is_full boolean;
  is_cut boolean;
begin
  replayed := 0;
  more := false;
  finished := false;
  select r.* into asked from pgsched.replays r where r.id = advance_replay.id and r.state = 'active' for update skip locked;
  asked.paced_until := greatest(asked.paced_until, pgsched.now());
  room := floor(asked.rate * (2 - extract(epoch from asked.paced_until - pgsched.now())));
  if asked.paced_until <= pgsched.now() + interval '1 second' then
    room := greatest(room, 1);
  end if;
  if asked.id is null or room < 1 then
    return;
  end if;
  chunk := pgsched_internal.replay_chunk(asked, room, most);
  replayed := cardinality(array_positions(chunk.outcomes, 'replayed'));
  is_full := 'full' = any (chunk.outcomes);
  is_cut := chunk.looked >= 1000 or cardinality(chunk.outcomes) >= most;
  more := not is_full and replayed < room and is_cut;
  finished := not is_full and replayed < room and not is_cut
    and not exists (select from pgsched_internal.letters_to_come_back_to l where l.replay_id = asked.id);
  update pgsched.replays r
     set reached = (chunk.asked).reached, paced_until = (chunk.asked).paced_until, replayed = r.replayed + advance_replay.replayed,
         passed_over = r.passed_over + cardinality(array_positions(chunk.outcomes, 'passed over')), updated_at = pgsched.now(),
         reason = case when is_full then 'waits: its queue is full'
                       when 'locked' = any (chunk.outcomes) then 'waits: somebody has dead letters of it open' end,
         state = case when finished then 'finished' else r.state end
   where r.id = asked.id;
end $$;
comment on function pgsched_internal.advance_replay(uuid, integer)
  is 'Replays the next dead letters of a replay of many, no more than so many and than its pace allows: how many, whether the
next chunk need not wait, and whether that was the last.';
