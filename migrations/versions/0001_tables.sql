-- The tables, indexes and types of the first schema. This file is frozen: changes go into later versions. The functions
-- that a default or a CHECK needs are created here; pgsched/store/interface replaces their bodies.

create type pgsched.execution_status as enum (
  'scheduled', 'retrying', 'held', 'running', 'succeeded', 'failed', 'cancelled', 'expired', 'skipped'
);
create type pgsched.job_state as enum ('active', 'paused', 'invalid', 'cancelled', 'finished');
create type pgsched.keep as enum ('all', 'failures', 'nothing');

create function pgsched.now() returns timestamptz
  language sql stable parallel safe as 'select pg_catalog.now()';

create function pgsched_internal.new_id() returns uuid
  language sql volatile parallel safe as 'select pg_catalog.gen_random_uuid()';

create function pgsched_internal.authenticated() returns text
  language sql stable parallel safe as 'select null::text';

create function pgsched_internal.refuse(code text, message text, hint text) returns boolean
  language plpgsql volatile parallel safe as $$
begin
  raise exception using errcode = code, message = refuse.message, hint = refuse.hint;
end $$;

-- This number is a property of the tables, so this function does not belong to the interface, which each release
-- replaces. The number must be a power of two, because keys are distributed by bits of their hash.
create function pgsched_internal.partitions_per_queue() returns integer
  language sql immutable parallel safe return 16;
comment on function pgsched_internal.partitions_per_queue() is 'How many partitions a queue has.';

create function pgsched_internal.check_target(target text) returns boolean
  language sql immutable parallel safe as 'select true';

create function pgsched_internal.check_payload(payload jsonb) returns boolean
  language sql immutable parallel safe as 'select true';

create function pgsched_internal.check_options(options jsonb) returns boolean
  language sql immutable parallel safe as 'select true';

create function pgsched_internal.check_defaults(options jsonb) returns boolean
  language sql immutable parallel safe as 'select true';

create function pgsched_internal.check_cron(cron text) returns boolean
  language sql immutable parallel safe as 'select true';

create function pgsched_internal.check_rules(rules jsonb) returns boolean
  language sql immutable parallel safe as 'select true';

create function pgsched_internal.check_labels(labels jsonb) returns boolean
  language sql immutable parallel safe as 'select true';

create function pgsched_internal.check_partition(partition smallint, client_id text, key text, ordering_key text) returns boolean
  language sql immutable parallel safe as 'select true';

-- No table uses these domains yet, so adding a constraint to them checks no rows:
-- squawk-ignore-file ban-create-domain-with-constraint
-- Checks on single columns are declared in domains. A session reads a domain's check only once, and evaluates it only
-- when the column is written. A table's CHECK is read again by each statement, and evaluated by each update.
create domain pgsched_internal.client_id as text constraint client_id_is_1_to_100_characters check (length(value) between 1 and 100);
create domain pgsched_internal.key as text constraint key_is_1_to_200_characters check (length(value) between 1 and 200);
create domain pgsched_internal.ordering_key as text
  constraint ordering_key_is_1_to_200_characters check (length(value) between 1 and 200);
create domain pgsched_internal.instant as timestamptz constraint fire_at_is_an_instant check (
  value between '0001-01-01 00:00+00' and '9999-12-31 00:00+00' or value = 'infinity'
  or pgsched_internal.refuse('PS002', 'fire_at must be an instant between the years 1 and 9999',
       'write now() + interval ''10 minutes'', or ''infinity'' to hold the row'));
create domain pgsched_internal.nominal_instant as timestamptz constraint scheduled_for_is_an_instant
  check (value between '0001-01-01 00:00+00' and '9999-12-31 00:00+00');
-- The first two forms cover nearly all targets, and are checked without calling check_target. A regular expression is
-- slow if it has many states, for example because of long literal prefixes or bounded repetitions. A host whose last
-- label begins with a digit is an address and needs the full check.
create domain pgsched_internal.target as text constraint target_is_a_known_uri check (value is null
  or octet_length(value) <= 2048 and (value like 'https://%' or value like 'http://%')
     and substr(value, position('://' in value) + 3) ~ '^([A-Za-z0-9][A-Za-z0-9-]*[.])*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(:[1-9][0-9]{0,3})?(/[!-"$-~]*)?$'
  or octet_length(value) <= 200 and value like 'python:%' and substr(value, 8) ~ '^[A-Za-z_][A-Za-z0-9_.:-]*$'
  or pgsched_internal.check_target(value));
-- The limits apply to the text that is sent to workers, which can be much longer than the jsonb: 1e131000 is stored in
-- a few bytes. A value within the first limits is too small to be nested too deeply or to contain a number that is too
-- long.
create domain pgsched_internal.payload as jsonb constraint payload_is_at_most_1_mib check (value is null
  or pg_column_size(value) <= 800 and pg_column_compression(value) is null and octet_length(value::text) <= 308
  or pgsched_internal.check_payload(value));
create domain pgsched_internal.cron as text constraint cron_is_readable check (value is null or pgsched_internal.check_cron(value));
create domain pgsched_internal.rules as jsonb constraint rules_are_known check (value is null or pgsched_internal.check_rules(value));
create domain pgsched_internal.labels as jsonb constraint labels_are_text check (value is null or pgsched_internal.check_labels(value));
create domain pgsched_internal.options as jsonb constraint options_are_known check (value is null or pgsched_internal.check_options(value));
create domain pgsched_internal.defaults as jsonb constraint defaults_are_known check (value is null or pgsched_internal.check_defaults(value));
create domain pgsched_internal.weight as smallint constraint weight_is_1_to_100 check (value between 1 and 100);

-- Contains only clients with settings. A client's options are the defaults of its executions.
create table pgsched.clients (
  client_id      text primary key constraint client_id_is_1_to_100_characters check (length(client_id) between 1 and 100),
  keep           pgsched.keep not null default 'all',
  options        pgsched_internal.defaults,
  weight         pgsched_internal.weight not null default 1,
  state          text not null default 'active' constraint client_is_active_or_held check (state in ('active', 'held')),
  reason         text,
  database_role  name,
  channels       text[] constraint channels_are_1_to_20 check (cardinality(channels) between 1 and 20 and array_position(channels, null) is null),
  dead_letter_target pgsched_internal.target,
  dead_letters_for   interval not null default interval '365 days' constraint dead_letters_for_is_1_hour_to_3653_days
                       check (dead_letters_for between interval '1 hour' and interval '3653 days' and date_trunc('month', dead_letters_for) = interval '0'),
  late_after     interval constraint late_after_is_1_millisecond_to_1_hour check (late_after between interval '1 ms' and interval '1 hour'),
  on_time_share  float8 not null default 0.99 constraint on_time_share_is_a_half_to_nearly_all check (on_time_share between 0.5 and 0.9999),
  created_at     timestamptz not null default pgsched.now()
);
insert into pgsched.clients (client_id) values ('default');

-- Secrets for signing callbacks: each client's current secret, and its former secrets until valid_until. All are sealed
-- with a key that the database does not have (pgsched/sealing.py). hint is the end of the secret, by which people
-- recognise it.
create table pgsched_internal.signing_secrets (
  client_id   text not null references pgsched.clients on delete cascade,
  sealed      bytea not null constraint sealed_is_a_signing_secret check (octet_length(sealed) between 75 and 131),
  hint        text not null constraint hint_is_4_characters check (length(hint) = 4),
  valid_until timestamptz,
  primary key (client_id, sealed)
);
create unique index one_signing_secret_without_end on pgsched_internal.signing_secrets (client_id) where valid_until is null;

-- Secrets that options refer to, sealed like the signing secrets. Each secret is sent only to the hosts in its row.
create table pgsched_internal.secrets (
  client_id  text not null references pgsched.clients on delete cascade,
  name       text not null constraint secret_name_is_1_to_100_letters check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
  sealed     bytea not null constraint sealed_is_at_most_16_kib check (octet_length(sealed) between 38 and 16450),
  hosts      text[] not null default '{}' constraint hosts_are_at_most_20 check (cardinality(hosts) <= 20 and array_position(hosts, null) is null),
  created_at timestamptz not null default pgsched.now(),
  updated_at timestamptz not null default pgsched.now(),
  full_name  text not null generated always as (client_id || '/' || name) stored,
  primary key (client_id, name)
);

-- API keys. Only the SHA-256 of a key's secret is stored. If clients is null, the key is valid for all clients. A
-- revoked key keeps its row.
create table pgsched_internal.api_keys (
  id           text primary key constraint api_key_id_is_16_hexadecimal_digits check (id ~ '^[0-9a-f]{16}$'),
  hash         bytea not null constraint hash_is_a_sha256 check (octet_length(hash) = 32),
  former_hash  bytea constraint former_hash_is_a_sha256 check (octet_length(former_hash) = 32),
  former_until timestamptz,
  subject      text not null constraint subject_is_1_to_200_characters check (length(subject) between 1 and 200),
  clients      text[] constraint clients_are_1_to_100 check (cardinality(clients) between 1 and 100 and array_position(clients, null) is null),
  scopes       text[] not null constraint scopes_are_schedule_read_operate_admin
                 check (cardinality(scopes) between 1 and 4 and scopes <@ array['schedule', 'read', 'operate', 'admin']),
  created_at   timestamptz not null default pgsched.now(),
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  rate         integer constraint key_rate_is_1_to_a_million check (rate between 1 and 1000000),
  burst        integer constraint key_burst_is_1_to_a_million check (burst between 1 and 1000000),
  constraint key_burst_goes_with_a_rate check (burst is null or rate is not null)
);

-- A queue owns partitions_per_queue() partitions, the first of which is first_partition. A key's slot (the offset of
-- its partition) is the same in every queue. Workers leave a pulled queue to its consumers. The queue's options apply
-- where neither the execution nor its client sets an option. full_since is set if the last count found at least
-- max_waiting executions.
create table pgsched.queues (
  name            text primary key constraint queue_name_is_plain check (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
  first_partition smallint not null unique constraint first_partition_begins_a_queue
                    check (first_partition >= 0 and first_partition % pgsched_internal.partitions_per_queue() = 0),
  options         pgsched_internal.defaults,
  weight          pgsched_internal.weight not null default 1,
  max_waiting     integer constraint max_waiting_is_1_to_100_million check (max_waiting between 1 and 100000000),
  full_since      timestamptz,
  paused_at       timestamptz,
  reason          text,
  pulled          boolean not null default false constraint the_queue_default_is_not_pulled check (not (pulled and name = 'default'))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_cost_delay = 0);
insert into pgsched.queues values ('default', 0);

-- A job's exceptions are instants whose runs were cancelled in advance. The job does not fire at these instants.
create table pgsched.jobs (
  id               uuid primary key default pgsched_internal.new_id(),
  client_id        pgsched_internal.client_id not null default 'default',
  key              pgsched_internal.key,
  queue            text not null default 'default' references pgsched.queues,
  ordering_key     pgsched_internal.ordering_key,
  target           pgsched_internal.target not null,
  payload          pgsched_internal.payload,
  options          pgsched_internal.options,
  rules            pgsched_internal.rules,
  labels           pgsched_internal.labels,
  cron             pgsched_internal.cron,
  timezone         text not null default 'UTC' constraint timezone_is_at_most_100_characters check (length(timezone) <= 100),
  every            interval,
  anchor           timestamptz not null default pgsched.now() constraint anchor_is_an_instant
                     check (anchor between '0001-01-02 00:00+00' and '9000-01-01 00:00+00'),
  gap              text not null default 'shift' constraint gap_is_shift_or_skip
                     check (gap in ('shift', 'skip') or pgsched_internal.refuse('PS002', format('gap cannot be %L', gap), 'write shift or skip')),
  overlap          text not null default 'first' constraint overlap_is_first_second_or_both
                     check (overlap in ('first', 'second', 'both') or pgsched_internal.refuse('PS002', format('overlap cannot be %L', overlap), 'write first, second or both')),
  state            pgsched.job_state not null default 'active',
  reason           text,
  revision         integer not null default 1,
  planned_revision integer not null default 0,
  runs             integer not null default 0,
  failures         integer not null default 0,
  declared_by      text constraint declared_by_is_1_to_200_characters check (length(declared_by) between 1 and 200),
  paused_at        timestamptz constraint paused_at_is_an_instant check (paused_at between '1970-01-01 00:00+00' and '9000-01-01 00:00+00'),
  exceptions       timestamptz[],
  accounted_to     timestamptz not null default pgsched.now() constraint accounted_to_is_an_instant
                     check (accounted_to between '1970-01-01 00:00+00' and '9999-12-31 00:00+00'),
  created_at       timestamptz not null default pgsched.now(),
  updated_at       timestamptz not null default pgsched.now() constraint updated_at_is_an_instant
                     check (updated_at between '1970-01-01 00:00+00' and '9000-01-01 00:00+00'),
  constraint either_cron_or_every check (num_nonnulls(cron, every) = 1
    or pgsched_internal.refuse('PS002', 'a job needs either cron or every', 'give exactly one of the two, such as cron => ''*/5 * * * *''')),
  constraint every_is_whole_seconds_or_more check (every is null
    or (every >= interval '1 second' and every <= interval '3653 days' and extract(year from every) = 0 and extract(month from every) = 0)
    or pgsched_internal.refuse('PS002', 'every must be between 1 second and 3653 days, without months or years', 'write every => ''15 minutes'', or a cron expression for calendar months'))
);
create unique index jobs_client_key on pgsched.jobs (client_id, key) where key is not null and state <> 'cancelled';
create index jobs_labels on pgsched.jobs using gin (labels jsonb_path_ops) where labels is not null;
create index jobs_ended on pgsched.jobs (updated_at) where state in ('finished', 'cancelled') and rules ? 'delete_after';
create index jobs_client on pgsched.jobs (client_id, id, state);
create index jobs_key on pgsched.jobs (client_id, key) where key is not null;
create index jobs_invalid on pgsched.jobs (client_id, id) where state = 'invalid';
create index jobs_declared on pgsched.jobs (declared_by) where declared_by is not null;
create index jobs_unplanned on pgsched.jobs (client_id, id) where state = 'active' and planned_revision <> revision;

-- Contains only live rows. Fixed-width columns come first. No index contains a lease column, so a claim is a HOT
-- update. Only the index on instants begins with the partition, so a lookup by id, key or job cannot use the wrong
-- index, even if the statistics show few rows because the table was briefly empty. Both CHECKs skip leased rows,
-- because a claim cannot violate them.
--
-- begun is set only for an execution that may have only one attempt; it is the lease token of that attempt. start_at is
-- set if jitter or a window delays a job's run beyond scheduled_for. held_until is when an execution held by a gate
-- will end; it is computed from the options and defaults at the time of the hold. uncounted is the number of deliveries
-- that did not count as attempts.
create table pgsched.executions (
  fire_at          pgsched_internal.instant not null,
  scheduled_for    pgsched_internal.nominal_instant,
  created_at       timestamptz not null default pgsched.now(),
  start_at         timestamptz,
  held_until       timestamptz,
  lease_expires_at timestamptz,
  lease_token      bigint,
  begun            bigint,
  id               uuid not null default pgsched_internal.new_id(),
  job_id           uuid,
  lease_owner      integer,
  plan             integer,
  uncounted        integer,
  partition        smallint not null,
  losses           smallint,
  attempt          smallint not null default 0
                     constraint attempt_is_0_to_1000 check (lease_token is not null or attempt between 0 and 1000),
  awaited          boolean,
  at_head          boolean,
  client_id        pgsched_internal.client_id not null default 'default',
  target           pgsched_internal.target not null,
  payload          pgsched_internal.payload,
  options          pgsched_internal.options,
  key              pgsched_internal.key,
  ordering_key     pgsched_internal.ordering_key,
  gate             text,
  consumer         text,
  reason           text,
  labels           pgsched_internal.labels,
  waits            jsonb,
  primary key (id, partition),
  constraint partition_follows_the_key check (lease_token is not null or coalesce(key, ordering_key) is null
    or pgsched_internal.check_partition(partition, client_id, key, ordering_key))
) partition by list (partition);
create index executions_fire_at on pgsched.executions (partition, fire_at);
create index executions_key on pgsched.executions (client_id, key) where key is not null;
create unique index executions_job on pgsched.executions (job_id, scheduled_for, partition) where job_id is not null;
-- A held row has fire_at = infinity. Queries of held rows repeat the condition of this index, so that they can use no
-- other index.
create index executions_gate on pgsched.executions (gate, (coalesce((options ->> 'priority')::smallint, 0::smallint)) desc, scheduled_for, id)
  where gate is not null and not isfinite(fire_at);
-- Finds executions that are held by a gate and have a deadline. Executions held because of an error wait until someone
-- deals with them.
create index executions_held_until on pgsched.executions (held_until) where gate <> 'error' and not isfinite(fire_at) and held_until is not null;
-- Finds due executions with a priority, in order of priority.
create index executions_priority on pgsched.executions (((options ->> 'priority')::smallint), fire_at) where options ? 'priority';
create index executions_ordering on pgsched.executions (client_id, ordering_key, (coalesce(scheduled_for, fire_at)), id)
  where ordering_key is not null;
create unique index executions_head on pgsched.executions (client_id, ordering_key, partition) where at_head;
-- Finds a client's labelled rows, newest first. Rows without labels cost nothing here.
create index executions_labelled on pgsched.executions (client_id, id) where labels is not null;

-- The job or execution that holds each client's key. The holder is a job if the partition is null. A holder keeps its
-- key for a while after it has ended. At look_at, the row is checked again, and deleted if the holder ended long enough
-- ago.
create table pgsched_internal.keys (
  client_id pgsched_internal.client_id not null,
  key       pgsched_internal.key not null,
  id        uuid not null,
  partition smallint,
  look_at   timestamptz not null default pgsched.now() + interval '24 hours',
  primary key (client_id, key)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index keys_look_at on pgsched_internal.keys (look_at);

-- Former partitions of jobs that an edit moved to another partition. A row that a worker was claiming at the time of
-- the edit stayed behind.
create table pgsched_internal.job_moves (
  job_id    uuid not null references pgsched.jobs on delete cascade,
  partition smallint not null,
  primary key (job_id, partition)
);

-- The result of scheduling.
create type pgsched_internal.placement as (id uuid, outcome text, fire_at timestamptz, partition smallint);

-- A consumer that claims from a pulled queue, and an execution as it is handed to the consumer.
create type pgsched_internal.consumer as (name text, token bigint, until timestamptz);
create type pgsched_internal.handed as (
  id uuid, token bigint, attempt smallint, delivery_count integer, scheduled_for timestamptz, client text, key text, ordering_key text, job_id uuid,
  payload jsonb, target text, options jsonb, lease_expires_at timestamptz
);

-- The default contains the number of partitions as a literal, because an inlined function would make the planning of
-- each insert slower.
do $$
begin
  execute format('alter table pgsched.executions alter partition set default (floor(random() * %s))::smallint',
    pgsched_internal.partitions_per_queue());
  for n in 0..pgsched_internal.partitions_per_queue() - 1 loop
    execute format(
      'create table pgsched_internal.executions_%1$s partition of pgsched.executions for values in (%1$s) with (fillfactor = 50, '
      'autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, '
      'autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.1, autovacuum_analyze_threshold = 5000)', n);
  end loop;
end $$;

-- The primary key identifies a row for logical replication. It is unique because a live row has one id and partition,
-- and can end only once at any instant. It contains client and status for reads by id.
--
-- instants is the number of skipped instants that a row stands for, from scheduled_for to last_scheduled_for. plan is 0
-- for a run of a backfill, and null for a triggered run. A failed row with dealt_with_at was either replayed as another
-- execution or discarded. began_at, seconds and worker describe the last attempt, if its times are known.
--
-- The index of failed rows begins with the id, so that it serves queries for one client and for all clients. Thanks to
-- its other columns, such queries need not read the rows.
create table pgsched.history (
  finished_at   timestamptz not null,
  fire_at       timestamptz not null,
  scheduled_for timestamptz not null,
  last_scheduled_for timestamptz,
  created_at    timestamptz not null,
  began_at      timestamptz,
  instants      bigint,
  settled_in    bigint not null default txid_current(),
  id            uuid not null,
  job_id        uuid,
  status        pgsched.execution_status not null,
  plan          integer,
  worker        integer,
  seconds       real,
  partition     smallint not null,
  attempt       smallint not null,
  status_code   smallint,
  awaited       boolean,
  client_id     text not null,
  target        text not null,
  payload       jsonb,
  options       jsonb,
  key           text,
  ordering_key  text,
  result        jsonb,
  reason        text,
  replayed_as   uuid,
  dealt_with_at timestamptz,
  dealt_with_by text,
  labels        jsonb,
  waits         jsonb,
  constraint history_id primary key (id, client_id, status, partition, finished_at)
) partition by range (finished_at);
create index history_key on pgsched.history (client_id, key) where key is not null;
create index history_job on pgsched.history (job_id, scheduled_for) where job_id is not null;
create index history_failed on pgsched.history (id, client_id, dealt_with_at) where status = 'failed';
create index history_awaited on pgsched.history (id) where awaited;
create index history_labelled on pgsched.history (client_id, id) where labels is not null;
create index history_settled_in on pgsched.history using brin (settled_in) with (pages_per_range = 64, autosummarize = on);
create table pgsched_internal.history_default partition of pgsched.history default;

-- The failed attempts of live and ended executions. If two attempts have the same primary key, only one is kept.
create table pgsched.attempts (
  finished_at  timestamptz not null,
  execution_id uuid not null,
  duration     interval,
  worker       integer,
  attempt      smallint not null,
  status_code  smallint,
  client_id    text not null,
  error        text not null,
  traceback    text,
  constraint attempts_execution primary key (execution_id, attempt, finished_at)
) partition by range (finished_at);
create table pgsched_internal.attempts_default partition of pgsched.attempts default;

-- How many executions ended, and how late attempts began, by minute, queue and client. The rows of the client '' are
-- totals of all clients, and are complete even if there are too many clients for each to have a row. The histograms
-- count attempts in the buckets bounded by pgsched_internal.buckets(); the last bucket counts everything above. A
-- histogram is null if no attempt was timed.
create table pgsched.rollups (
  minute          timestamptz not null,
  attempts        bigint not null default 0,
  failed_attempts bigint not null default 0,
  succeeded       bigint not null default 0,
  failed          bigint not null default 0,
  cancelled       bigint not null default 0,
  expired         bigint not null default 0,
  skipped         bigint not null default 0,
  client_id       text not null,
  queue           text not null,
  lateness        integer[],
  duration        integer[],
  constraint rollups_client primary key (client_id, minute, queue)
) partition by range (minute);
create index rollups_minute on pgsched.rollups (minute);
create table pgsched_internal.rollups_default partition of pgsched.rollups default;

-- Counts that are written in the transaction of the counted events, and kept until a worker adds them to the rollups. A
-- row counts executions that ended with this status, failed attempts if the status is retrying, or attempts if it is
-- null.
create table pgsched_internal.counts_to_roll_up (
  id        uuid primary key default gen_random_uuid(),
  noted_at  timestamptz not null,
  count     bigint not null,
  status    pgsched.execution_status,
  partition smallint not null,
  bucket    smallint,
  client_id text not null
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- What running handlers report: their progress, and the checkpoint from which a later attempt continues. A row is
-- created by the first report, and deleted some time after the execution has ended.
create table pgsched.progress (
  execution_id uuid primary key,
  partition    smallint not null,
  client_id    text not null,
  fraction     real check (fraction between 0 and 1),
  note         text,
  reported_at  timestamptz not null default pgsched.now(),
  checkpoint   jsonb
) with (fillfactor = 50);

-- The names of the day tables that are partitions. A subscriber of logical replication receives rows but no tables, so
-- it creates and drops its own tables to match these rows.
create table pgsched_internal.days (name text primary key);

-- Dead letters whose day of history has been dropped, each with its failed attempts.
create table pgsched_internal.kept_dead_letters (
  like pgsched.history,
  tries jsonb not null,
  primary key (id)
);
create index kept_dead_letters_key on pgsched_internal.kept_dead_letters (client_id, key) where key is not null;
create index kept_dead_letters_finished_at on pgsched_internal.kept_dead_letters (finished_at);

-- Ordering keys that must wait. Either an execution with the key failed for good, and someone must decide what to do;
-- or an execution was cancelled while it was running, and its call may continue. The wait for a call ends when the
-- process that made the call reports the end of the call with the lease's token, or at the instant in the column until.
create table pgsched.blocked_keys (
  client_id    text not null,
  ordering_key text not null,
  partition    smallint not null,
  execution_id uuid not null,
  reason       text,
  blocked_at   timestamptz not null default pgsched.now(),
  until        timestamptz,
  token        bigint,
  primary key (client_id, ordering_key, partition)
);
create index blocked_keys_execution on pgsched.blocked_keys (execution_id);
create index blocked_keys_client on pgsched.blocked_keys (client_id, execution_id);

-- Gates hold executions. A gate is a limit on a client, a target host, a queue or a client's own key, or the circuit of
-- a failing target. An execution that may not pass gets fire_at = infinity and the gate's name in its column gate, and
-- is later claimed without leaving this state.
--
-- events is the number of executions that pass in each period, at an even rate; burst is the number that may pass at
-- once after a lull. next_at is the theoretical arrival time of the generic cell rate algorithm (ITU-T I.371). Nothing
-- passes before shut_until. A circuit begins to recover at recovers_from.
create table pgsched_internal.gates (
  name          text primary key constraint gate_is_of_a_known_kind check (length(name) <= 600 and name ~ '^(client|host|queue|key|circuit):.'),
  client_id     text generated always as (case when name like 'circuit:%' then substr(name, strpos(name, ' ') + 1) end) stored,
  events        integer constraint events_are_1_to_a_million check (events between 1 and 1000000),
  period        interval constraint period_is_1_millisecond_to_366_days check (period between interval '1 ms' and interval '366 days' and date_trunc('month', period) = interval '0'),
  burst         integer not null default 1 constraint burst_is_1_to_a_million check (burst between 1 and 1000000),
  concurrency   integer constraint concurrency_is_1_to_a_million check (concurrency between 1 and 1000000),
  next_at       timestamptz not null default '-infinity',
  shut_until    timestamptz,
  recovers_from timestamptz,
  openings      integer not null default 0,
  failing_since timestamptz,
  reason        text,
  updated_at    timestamptz not null default pgsched.now(),
  constraint events_have_a_period check (num_nonnulls(events, period) <> 1)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_cost_delay = 0);

-- Finds the targets that are sidelined for a client. client_id is a column because, under a row-level policy, a query
-- cannot use an index on an expression.
create index gates_of_client on pgsched_internal.gates (client_id, name) where client_id is not null;

-- The executions (after_id) that another execution (execution_id) waits for. The waiting execution is held until all of
-- them have ended. Each of them is marked as awaited, so that settling it also updates the executions that wait for it.
-- With a delay, the waiting execution fires that long after the end.
create table pgsched.dependencies (
  execution_id uuid not null,
  after_id     uuid not null,
  outcome      text not null default 'success' constraint outcome_is_success_or_any check (outcome in ('success', 'any')),
  delay        interval constraint delay_is_0_to_3653_days check (delay between interval '0' and interval '3653 days'),
  status       pgsched.execution_status,
  finished_at  timestamptz,
  primary key (execution_id, after_id)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index dependencies_after on pgsched.dependencies (after_id, execution_id) where status is null;

-- Executions that must still be marked as awaited. They were running when others were scheduled to wait for them, and
-- scheduling must not lock a running execution.
create table pgsched_internal.ends_to_mark (
  execution_id uuid not null,
  after_id     uuid not null,
  noted_at     timestamptz not null default clock_timestamp(),
  primary key (execution_id, after_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index ends_to_mark_noted_at on pgsched_internal.ends_to_mark (noted_at);
create index ends_to_mark_after on pgsched_internal.ends_to_mark (after_id);

-- Results that could not be recorded when they were reported, because the execution's row, or another row that must
-- change with it, was locked. A worker next tries to record a result at try_at.
create table pgsched_internal.results_to_record (
  id           uuid primary key default gen_random_uuid(),
  client_id    text not null,
  execution_id uuid not null,
  token        bigint not null,
  verb         text not null constraint verb_is_complete_fail_or_release check (verb in ('complete', 'fail', 'release')),
  result       jsonb,
  error        text,
  retryable    boolean,
  retry_after  interval,
  noted_at     timestamptz not null default clock_timestamp(),
  try_at       timestamptz not null default clock_timestamp()
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index results_to_record_try_at on pgsched_internal.results_to_record (try_at);
create index results_to_record_client on pgsched_internal.results_to_record (client_id);
create index results_to_record_execution on pgsched_internal.results_to_record (execution_id);

-- Bulk operations. An operation applies to all items that match its filter, belong to its clients (null means all), and
-- existed at the time of the request. total is the number of these items, if there was time to count them. Items are
-- read in order of their ids (executions: one partition after another), and reached is the last id that was read.
--
-- A backfill has planned the instants up to reached_at; its live rows are those of the job with plan = 0. All items
-- that have been replayed or planned so far fire before paced_until. An operation without a rate was done at once.
create table pgsched.bulk_operations (
  id          uuid primary key default pgsched_internal.new_id(),
  action      text not null constraint action_is_known
                check (action in ('cancel', 'reschedule', 'replay', 'discard', 'backfill', 'pause', 'resume', 'cancel_jobs')),
  clients     text[],
  filter      jsonb not null,
  job_id      uuid generated always as ((filter ->> 'job')::uuid) stored,
  target      pgsched_internal.target,
  fire_at     timestamptz,
  shift       interval constraint shift_is_at_most_3653_days check (shift between interval '-3653 days' and interval '3653 days'),
  note        text,
  rate        double precision constraint rate_is_positive check (rate > 0 and rate <= 100000),
  state       text not null default 'active' constraint bulk_state_is_known check (state in ('active', 'stopped', 'finished')),
  partition   smallint,
  reached     uuid,
  reached_at  timestamptz,
  paced_until timestamptz,
  total       bigint,
  done        bigint not null default 0,
  skipped     bigint not null default 0,
  failed      bigint not null default 0,
  reason      text,
  actor       text not null,
  created_at  timestamptz not null default pgsched.now(),
  updated_at  timestamptz not null default pgsched.now()
);
create index bulk_operations_active on pgsched.bulk_operations (id) where state = 'active';
create index bulk_operations_job on pgsched.bulk_operations (job_id, id) where job_id is not null;

-- Rows that were locked when a bulk operation reached them, to be tried again. finished_at is set for a dead letter,
-- and partition for an execution.
create table pgsched_internal.rows_to_come_back_to (
  operation_id uuid not null references pgsched.bulk_operations on delete cascade,
  id           uuid not null,
  finished_at  timestamptz,
  partition    smallint,
  tried_at     timestamptz not null default clock_timestamp(),
  primary key (operation_id, id)
);

-- Facts about the whole installation, such as the version of the time zone rules with which rows are planned.
create table pgsched_internal.facts (
  name       text primary key,
  value      text not null,
  updated_at timestamptz not null default pgsched.now()
);

-- The settings of the whole installation, in one row. held_since and reason are set while the installation is held for
-- recovery. A hold_after column is how long all workers must have been absent for the installation to be held: when the
-- server was restarted, when it was promoted, or in any other case (see interface/admin/recovery.sql); null means
-- never.
create table pgsched.installation (
  name                 text primary key default 'installation' constraint there_is_one_installation check (name = 'installation'),
  history_days         integer not null default 30 constraint history_days_are_1_to_3650 check (history_days between 1 and 3650),
  audit_days           integer not null default 400 constraint audit_days_are_0_to_36500 check (audit_days between 0 and 36500),
  archive_history      boolean not null default false,
  hold_after_restart   interval default '1 hour' constraint hold_after_restart_is_1_second_to_3653_days
                         check (hold_after_restart between interval '1 second' and interval '3653 days' and date_trunc('month', hold_after_restart) = interval '0'),
  hold_after_promotion interval default '10 minutes' constraint hold_after_promotion_is_1_second_to_3653_days
                         check (hold_after_promotion between interval '1 second' and interval '3653 days' and date_trunc('month', hold_after_promotion) = interval '0'),
  hold_after_absence   interval constraint hold_after_absence_is_1_second_to_3653_days
                         check (hold_after_absence between interval '1 second' and interval '3653 days' and date_trunc('month', hold_after_absence) = interval '0'),
  held_since           timestamptz,
  reason               text
);
insert into pgsched.installation default values;

-- The days of history and attempts that have been archived. An installation that archives its history drops only these
-- days.
create table pgsched_internal.archived_days (
  day         date primary key,
  archived_at timestamptz not null default pgsched.now()
);

-- The server that workers used last, when it was started, and when workers were last active by that server's clock.
-- relation is the oid of this table, which a dump does not preserve. renewals is a counter that shows a returning
-- worker whether the database has gone back in time.
create table pgsched_internal.fleet (
  singleton         boolean primary key default true constraint there_is_one_fleet check (singleton),
  system_identifier bigint,
  database          oid not null,
  timeline          integer,
  server_started_at timestamptz,
  seen_at           timestamptz not null,
  relation          oid not null,
  renewals          bigint not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Rows that are locked but never changed. Each protects something that only one process may do at a time. Each row
-- named feeding serves all gates whose names have the same hash.
create table pgsched_internal.locks (name text primary key);
insert into pgsched_internal.locks (name)
select unnest(array['days', 'queues']) union all select 'feeding ' || n from generate_series(0, 1023) n;
create table pgsched_internal.orderings (partition smallint primary key);
insert into pgsched_internal.orderings (partition) select generate_series(0, pgsched_internal.partitions_per_queue() - 1);
create table pgsched_internal.circles (client_id text primary key);

-- Stores which worker watches a queue, and until when: see pgsched_internal.is_watched. Each queue has such a sequence.
create sequence pgsched_internal.watch_0;

-- One row for each worker process; lease_owner refers to its id. All sessions of the worker use its login, and have its
-- instance in their names. The worker extends expires_at after each quarter of its lease, and runs up to concurrency
-- executions at the same time. Once lost_since is set, the worker's executions are taken back.
create table pgsched.workers (
  id         integer generated by default as identity primary key,
  name       text not null,
  queues     text[] not null,
  delivers   text[] not null default '{}',
  concurrency integer not null default 1,
  release    text not null,
  instance   text not null default '',
  login      oid,
  lease      interval not null default '30 s',
  started_at timestamptz not null default pgsched.now(),
  expires_at timestamptz not null,
  lost_since timestamptz
) with (fillfactor = 50);

-- Paused workers, and why they were paused. There is no foreign key, because it would let an open transaction keep a
-- worker from deleting its row.
create table pgsched_internal.draining (
  worker integer primary key,
  since  timestamptz not null default pgsched.now(),
  reason text
);

-- The workers that left most recently. A worker with lost_since was lost; any other had stopped.
create table pgsched_internal.former_workers (
  id         integer primary key,
  name       text not null,
  queues     text[] not null,
  release    text not null,
  started_at timestamptz not null,
  lost_since timestamptz,
  left_at    timestamptz not null default pgsched.now()
);

-- For each gate with a concurrency limit, and each worker, the number of executions in flight that have passed the
-- gate.
create table pgsched_internal.gate_use (
  gate    text not null references pgsched_internal.gates on delete cascade,
  worker  integer not null references pgsched.workers on delete cascade,
  running integer not null,
  primary key (gate, worker)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_cost_delay = 0);

-- Each row records a change to an object of this kind and name, such as a client; before and after contain the
-- differences. Triggers write insert, update or delete as the action, and the function that made the change then writes
-- its own name instead. client_id is the client that the object belongs to, and that may read this entry.
create table pgsched.audit_log (
  id      bigint generated by default as identity primary key,
  at      timestamptz not null default pgsched.now(),
  actor   text not null,
  action  text not null,
  subject uuid,
  kind    text,
  name    text,
  before  jsonb,
  after   jsonb,
  detail  jsonb,
  authenticated text default pgsched_internal.authenticated(),
  login   name not null default session_user,
  process integer not null default pg_catalog.pg_backend_pid(),
  transaction xid8 not null default pg_catalog.pg_current_xact_id(),
  client_id text
);
create index audit_log_client on pgsched.audit_log (client_id, id) where client_id is not null;
create index audit_log_subject on pgsched.audit_log (subject, id) where subject is not null;
create index audit_log_name on pgsched.audit_log (name, kind, id) where name is not null;
create unique index audit_log_change on pgsched.audit_log (transaction, at, kind, name) where action in ('insert', 'update', 'delete');

revoke all on all functions in schema pgsched from public;
