-- The schema, from the catalogs. To rewrite it:
-- PGSCHED_WRITE_SCHEMA=1 pytest tests/migrations/test_schema.py

-- types
type pgsched.execution_status as enum ('scheduled', 'retrying', 'held', 'running', 'succeeded', 'failed', 'cancelled', 'expired', 'skipped')
type pgsched.job_state as enum ('active', 'paused', 'invalid', 'cancelled', 'finished')
type pgsched.keep as enum ('all', 'failures', 'nothing')

-- domains
domain pgsched_internal.client_id as text constraint client_id_is_1_to_100_characters CHECK (((length(VALUE) >= 1) AND (length(VALUE) <= 100)))
domain pgsched_internal.cron as text constraint cron_is_readable CHECK (((VALUE IS NULL) OR pgsched_internal.check_cron(VALUE)))
domain pgsched_internal.defaults as jsonb constraint defaults_are_known CHECK (((VALUE IS NULL) OR pgsched_internal.check_defaults(VALUE)))
domain pgsched_internal.instant as timestamp with time zone constraint fire_at_is_an_instant CHECK ((((VALUE >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (VALUE <= '9999-12-31 00:00:00+00'::timestamp with time zone)) OR (VALUE = 'infinity'::timestamp with time zone) OR pgsched_internal.refuse('PS002'::text, 'fire_at must be an instant between the years 1 and 9999'::text, 'write now() + interval ''10 minutes'', or ''infinity'' to hold the row'::text)))
domain pgsched_internal.key as text constraint key_is_1_to_200_characters CHECK (((length(VALUE) >= 1) AND (length(VALUE) <= 200)))
domain pgsched_internal.labels as jsonb constraint labels_are_text CHECK (((VALUE IS NULL) OR pgsched_internal.check_labels(VALUE)))
domain pgsched_internal.nominal_instant as timestamp with time zone constraint scheduled_for_is_an_instant CHECK (((VALUE >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (VALUE <= '9999-12-31 00:00:00+00'::timestamp with time zone)))
domain pgsched_internal.options as jsonb constraint options_are_known CHECK (((VALUE IS NULL) OR pgsched_internal.check_options(VALUE)))
domain pgsched_internal.ordering_key as text constraint ordering_key_is_1_to_200_characters CHECK (((length(VALUE) >= 1) AND (length(VALUE) <= 200)))
domain pgsched_internal.payload as jsonb constraint payload_is_at_most_1_mib CHECK (((VALUE IS NULL) OR ((pg_column_size(VALUE) <= 800) AND (pg_column_compression(VALUE) IS NULL) AND (octet_length((VALUE)::text) <= 308)) OR pgsched_internal.check_payload(VALUE)))
domain pgsched_internal.rules as jsonb constraint rules_are_known CHECK (((VALUE IS NULL) OR pgsched_internal.check_rules(VALUE)))
domain pgsched_internal.target as text constraint target_is_a_known_uri CHECK (((VALUE IS NULL) OR ((octet_length(VALUE) <= 2048) AND ((VALUE ~~ 'https://%'::text) OR (VALUE ~~ 'http://%'::text)) AND (substr(VALUE, (POSITION(('://'::text) IN (VALUE)) + 3)) ~ '^([A-Za-z0-9][A-Za-z0-9-]*[.])*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(:[1-9][0-9]{0,3})?(/[!-"$-~]*)?$'::text)) OR ((octet_length(VALUE) <= 200) AND (VALUE ~~ 'python:%'::text) AND (substr(VALUE, 8) ~ '^[A-Za-z_][A-Za-z0-9_.:-]*$'::text)) OR pgsched_internal.check_target(VALUE)))
domain pgsched_internal.weight as smallint constraint weight_is_1_to_100 CHECK (((VALUE >= 1) AND (VALUE <= 100)))

-- tables
table pgsched.attempts partition by RANGE (finished_at) row level security
table pgsched.audit_log row level security
table pgsched.blocked_keys row level security
table pgsched.bulk_operations row level security
table pgsched.clients row level security
table pgsched.dependencies with (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0) row level security
table pgsched.executions partition by LIST (partition) row level security
table pgsched.history partition by RANGE (finished_at) row level security
table pgsched.installation
table pgsched.jobs row level security
table pgsched.progress with (fillfactor=50) row level security
table pgsched.queues with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=100, autovacuum_vacuum_cost_delay=0)
table pgsched.rollups partition by RANGE (minute) row level security
table pgsched.schema_version
table pgsched.workers with (fillfactor=50)
table pgsched_internal.api_keys row level security
table pgsched_internal.archived_days
table pgsched_internal.circles
table pgsched_internal.counts_to_roll_up with (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0)
table pgsched_internal.days
table pgsched_internal.draining
table pgsched_internal.ends_to_mark with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0)
table pgsched_internal.facts row level security
table pgsched_internal.fleet with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0)
table pgsched_internal.former_workers
table pgsched_internal.gate_use with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=100, autovacuum_vacuum_cost_delay=0)
table pgsched_internal.gates with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=100, autovacuum_vacuum_cost_delay=0) row level security
table pgsched_internal.job_moves
table pgsched_internal.kept_dead_letters row level security
table pgsched_internal.keys with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0)
table pgsched_internal.locks
table pgsched_internal.orderings
table pgsched_internal.results_to_record with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0)
table pgsched_internal.rows_to_come_back_to
table pgsched_internal.secrets row level security
table pgsched_internal.signing_secrets row level security
view pgsched.dead_letters with (security_invoker=true)
view pgsched.minutes with (security_invoker=true)
view pgsched.sidelined with (security_invoker=true)
view pgsched.status with (security_invoker=true)
view pgsched.undeliverable with (security_invoker=true)
view pgsched_internal.ended with (security_invoker=true)
view pgsched_internal.live with (security_invoker=true)

-- columns
column pgsched.attempts.01 finished_at timestamp with time zone not null
column pgsched.attempts.02 execution_id uuid not null
column pgsched.attempts.03 duration interval
column pgsched.attempts.04 worker integer
column pgsched.attempts.05 attempt smallint not null
column pgsched.attempts.06 status_code smallint
column pgsched.attempts.07 client_id text not null
column pgsched.attempts.08 error text not null
column pgsched.attempts.09 traceback text
column pgsched.audit_log.01 id bigint not null identity
column pgsched.audit_log.02 at timestamp with time zone not null default pgsched.now()
column pgsched.audit_log.03 actor text not null
column pgsched.audit_log.04 action text not null
column pgsched.audit_log.05 subject uuid
column pgsched.audit_log.06 kind text
column pgsched.audit_log.07 name text
column pgsched.audit_log.08 before jsonb
column pgsched.audit_log.09 after jsonb
column pgsched.audit_log.10 detail jsonb
column pgsched.audit_log.11 authenticated text default pgsched_internal.authenticated()
column pgsched.audit_log.12 login name not null default SESSION_USER
column pgsched.audit_log.13 process integer not null default pg_backend_pid()
column pgsched.audit_log.14 transaction xid8 not null default pg_current_xact_id()
column pgsched.audit_log.15 client_id text
column pgsched.blocked_keys.01 client_id text not null
column pgsched.blocked_keys.02 ordering_key text not null
column pgsched.blocked_keys.03 partition smallint not null
column pgsched.blocked_keys.04 execution_id uuid not null
column pgsched.blocked_keys.05 reason text
column pgsched.blocked_keys.06 blocked_at timestamp with time zone not null default pgsched.now()
column pgsched.blocked_keys.07 until timestamp with time zone
column pgsched.blocked_keys.08 token bigint
column pgsched.bulk_operations.01 id uuid not null default pgsched_internal.new_id()
column pgsched.bulk_operations.02 action text not null
column pgsched.bulk_operations.03 clients text[]
column pgsched.bulk_operations.04 filter jsonb not null
column pgsched.bulk_operations.05 job_id uuid default ((filter ->> 'job'::text))::uuid
column pgsched.bulk_operations.06 target pgsched_internal.target
column pgsched.bulk_operations.07 fire_at timestamp with time zone
column pgsched.bulk_operations.08 shift interval
column pgsched.bulk_operations.09 note text
column pgsched.bulk_operations.10 rate double precision
column pgsched.bulk_operations.11 state text not null default 'active'::text
column pgsched.bulk_operations.12 partition smallint
column pgsched.bulk_operations.13 reached uuid
column pgsched.bulk_operations.14 reached_at timestamp with time zone
column pgsched.bulk_operations.15 paced_until timestamp with time zone
column pgsched.bulk_operations.16 total bigint
column pgsched.bulk_operations.17 done bigint not null default 0
column pgsched.bulk_operations.18 skipped bigint not null default 0
column pgsched.bulk_operations.19 failed bigint not null default 0
column pgsched.bulk_operations.20 reason text
column pgsched.bulk_operations.21 actor text not null
column pgsched.bulk_operations.22 created_at timestamp with time zone not null default pgsched.now()
column pgsched.bulk_operations.23 updated_at timestamp with time zone not null default pgsched.now()
column pgsched.clients.01 client_id text not null
column pgsched.clients.02 keep pgsched.keep not null default 'all'::pgsched.keep
column pgsched.clients.03 options pgsched_internal.defaults
column pgsched.clients.04 weight pgsched_internal.weight not null default 1
column pgsched.clients.05 state text not null default 'active'::text
column pgsched.clients.06 reason text
column pgsched.clients.07 database_role name
column pgsched.clients.08 channels text[]
column pgsched.clients.09 dead_letter_target pgsched_internal.target
column pgsched.clients.10 dead_letters_for interval not null default '365 days'::interval
column pgsched.clients.11 late_after interval
column pgsched.clients.12 on_time_share double precision not null default 0.99
column pgsched.clients.13 created_at timestamp with time zone not null default pgsched.now()
column pgsched.dead_letters.01 id uuid
column pgsched.dead_letters.02 client_id text
column pgsched.dead_letters.03 key text
column pgsched.dead_letters.04 job_id uuid
column pgsched.dead_letters.05 queue text
column pgsched.dead_letters.06 target text
column pgsched.dead_letters.07 host text
column pgsched.dead_letters.08 payload jsonb
column pgsched.dead_letters.09 options jsonb
column pgsched.dead_letters.10 ordering_key text
column pgsched.dead_letters.11 scheduled_for timestamp with time zone
column pgsched.dead_letters.12 created_at timestamp with time zone
column pgsched.dead_letters.13 finished_at timestamp with time zone
column pgsched.dead_letters.14 attempt smallint
column pgsched.dead_letters.15 status_code smallint
column pgsched.dead_letters.16 reason text
column pgsched.dead_letters.17 state text
column pgsched.dead_letters.18 replayed_as uuid
column pgsched.dead_letters.19 dealt_with_at timestamp with time zone
column pgsched.dead_letters.20 dealt_with_by text
column pgsched.dead_letters.21 expires_at timestamp with time zone
column pgsched.dead_letters.22 labels jsonb
column pgsched.dependencies.01 execution_id uuid not null
column pgsched.dependencies.02 after_id uuid not null
column pgsched.dependencies.03 outcome text not null default 'success'::text
column pgsched.dependencies.04 delay interval
column pgsched.dependencies.05 status pgsched.execution_status
column pgsched.dependencies.06 finished_at timestamp with time zone
column pgsched.executions.01 fire_at pgsched_internal.instant not null
column pgsched.executions.02 scheduled_for pgsched_internal.nominal_instant
column pgsched.executions.03 created_at timestamp with time zone not null default pgsched.now()
column pgsched.executions.04 start_at timestamp with time zone
column pgsched.executions.05 held_until timestamp with time zone
column pgsched.executions.06 lease_expires_at timestamp with time zone
column pgsched.executions.07 lease_token bigint
column pgsched.executions.08 begun bigint
column pgsched.executions.09 id uuid not null default pgsched_internal.new_id()
column pgsched.executions.10 job_id uuid
column pgsched.executions.11 lease_owner integer
column pgsched.executions.12 plan integer
column pgsched.executions.13 uncounted integer
column pgsched.executions.14 partition smallint not null default (floor((random() * (16)::double precision)))::smallint
column pgsched.executions.15 losses smallint
column pgsched.executions.16 attempt smallint not null default 0
column pgsched.executions.17 awaited boolean
column pgsched.executions.18 at_head boolean
column pgsched.executions.19 client_id pgsched_internal.client_id not null default 'default'::text
column pgsched.executions.20 target pgsched_internal.target not null
column pgsched.executions.21 payload pgsched_internal.payload
column pgsched.executions.22 options pgsched_internal.options
column pgsched.executions.23 key pgsched_internal.key
column pgsched.executions.24 ordering_key pgsched_internal.ordering_key
column pgsched.executions.25 gate text
column pgsched.executions.26 consumer text
column pgsched.executions.27 reason text
column pgsched.executions.28 labels pgsched_internal.labels
column pgsched.executions.29 waits jsonb
column pgsched.history.01 finished_at timestamp with time zone not null
column pgsched.history.02 fire_at timestamp with time zone not null
column pgsched.history.03 scheduled_for timestamp with time zone not null
column pgsched.history.04 last_scheduled_for timestamp with time zone
column pgsched.history.05 created_at timestamp with time zone not null
column pgsched.history.06 began_at timestamp with time zone
column pgsched.history.07 instants bigint
column pgsched.history.08 settled_in bigint not null default txid_current()
column pgsched.history.09 id uuid not null
column pgsched.history.10 job_id uuid
column pgsched.history.11 status pgsched.execution_status not null
column pgsched.history.12 plan integer
column pgsched.history.13 worker integer
column pgsched.history.14 seconds real
column pgsched.history.15 partition smallint not null
column pgsched.history.16 attempt smallint not null
column pgsched.history.17 status_code smallint
column pgsched.history.18 awaited boolean
column pgsched.history.19 client_id text not null
column pgsched.history.20 target text not null
column pgsched.history.21 payload jsonb
column pgsched.history.22 options jsonb
column pgsched.history.23 key text
column pgsched.history.24 ordering_key text
column pgsched.history.25 result jsonb
column pgsched.history.26 reason text
column pgsched.history.27 replayed_as uuid
column pgsched.history.28 dealt_with_at timestamp with time zone
column pgsched.history.29 dealt_with_by text
column pgsched.history.30 labels jsonb
column pgsched.history.31 waits jsonb
column pgsched.installation.01 name text not null default 'installation'::text
column pgsched.installation.02 history_days integer not null default 30
column pgsched.installation.03 audit_days integer not null default 400
column pgsched.installation.04 archive_history boolean not null default false
column pgsched.installation.05 hold_after_restart interval default '01:00:00'::interval
column pgsched.installation.06 hold_after_promotion interval default '00:10:00'::interval
column pgsched.installation.07 hold_after_absence interval
column pgsched.installation.08 held_since timestamp with time zone
column pgsched.installation.09 reason text
column pgsched.jobs.01 id uuid not null default pgsched_internal.new_id()
column pgsched.jobs.02 client_id pgsched_internal.client_id not null default 'default'::text
column pgsched.jobs.03 key pgsched_internal.key
column pgsched.jobs.04 queue text not null default 'default'::text
column pgsched.jobs.05 ordering_key pgsched_internal.ordering_key
column pgsched.jobs.06 target pgsched_internal.target not null
column pgsched.jobs.07 payload pgsched_internal.payload
column pgsched.jobs.08 options pgsched_internal.options
column pgsched.jobs.09 rules pgsched_internal.rules
column pgsched.jobs.10 labels pgsched_internal.labels
column pgsched.jobs.11 cron pgsched_internal.cron
column pgsched.jobs.12 timezone text not null default 'UTC'::text
column pgsched.jobs.13 every interval
column pgsched.jobs.14 anchor timestamp with time zone not null default pgsched.now()
column pgsched.jobs.15 gap text not null default 'shift'::text
column pgsched.jobs.16 overlap text not null default 'first'::text
column pgsched.jobs.17 state pgsched.job_state not null default 'active'::pgsched.job_state
column pgsched.jobs.18 reason text
column pgsched.jobs.19 revision integer not null default 1
column pgsched.jobs.20 planned_revision integer not null default 0
column pgsched.jobs.21 runs integer not null default 0
column pgsched.jobs.22 failures integer not null default 0
column pgsched.jobs.23 declared_by text
column pgsched.jobs.24 paused_at timestamp with time zone
column pgsched.jobs.25 exceptions timestamp with time zone[]
column pgsched.jobs.26 accounted_to timestamp with time zone not null default pgsched.now()
column pgsched.jobs.27 created_at timestamp with time zone not null default pgsched.now()
column pgsched.jobs.28 updated_at timestamp with time zone not null default pgsched.now()
column pgsched.minutes.01 minute timestamp with time zone
column pgsched.minutes.02 client_id text
column pgsched.minutes.03 queue text
column pgsched.minutes.04 ended bigint
column pgsched.minutes.05 succeeded bigint
column pgsched.minutes.06 failed bigint
column pgsched.minutes.07 cancelled bigint
column pgsched.minutes.08 expired bigint
column pgsched.minutes.09 skipped bigint
column pgsched.minutes.10 attempts bigint
column pgsched.minutes.11 failed_attempts bigint
column pgsched.minutes.12 lateness_p50 double precision
column pgsched.minutes.13 lateness_p99 double precision
column pgsched.minutes.14 duration_p50 double precision
column pgsched.minutes.15 duration_p99 double precision
column pgsched.progress.01 execution_id uuid not null
column pgsched.progress.02 partition smallint not null
column pgsched.progress.03 client_id text not null
column pgsched.progress.04 fraction real
column pgsched.progress.05 note text
column pgsched.progress.06 reported_at timestamp with time zone not null default pgsched.now()
column pgsched.progress.07 checkpoint jsonb
column pgsched.queues.01 name text not null
column pgsched.queues.02 first_partition smallint not null
column pgsched.queues.03 options pgsched_internal.defaults
column pgsched.queues.04 weight pgsched_internal.weight not null default 1
column pgsched.queues.05 max_waiting integer
column pgsched.queues.06 full_since timestamp with time zone
column pgsched.queues.07 paused_at timestamp with time zone
column pgsched.queues.08 reason text
column pgsched.queues.09 pulled boolean not null default false
column pgsched.rollups.01 minute timestamp with time zone not null
column pgsched.rollups.02 attempts bigint not null default 0
column pgsched.rollups.03 failed_attempts bigint not null default 0
column pgsched.rollups.04 succeeded bigint not null default 0
column pgsched.rollups.05 failed bigint not null default 0
column pgsched.rollups.06 cancelled bigint not null default 0
column pgsched.rollups.07 expired bigint not null default 0
column pgsched.rollups.08 skipped bigint not null default 0
column pgsched.rollups.09 client_id text not null
column pgsched.rollups.10 queue text not null
column pgsched.rollups.11 lateness integer[]
column pgsched.rollups.12 duration integer[]
column pgsched.schema_version.01 version_num character varying(32) not null
column pgsched.sidelined.01 gate text
column pgsched.sidelined.02 host text
column pgsched.sidelined.03 client_id text
column pgsched.sidelined.04 state text
column pgsched.sidelined.05 until timestamp with time zone
column pgsched.sidelined.06 openings integer
column pgsched.sidelined.07 reason text
column pgsched.sidelined.08 since timestamp with time zone
column pgsched.sidelined.09 held bigint
column pgsched.sidelined.10 failing_since timestamp with time zone
column pgsched.status.01 id uuid
column pgsched.status.02 client_id text
column pgsched.status.03 key text
column pgsched.status.04 job_id uuid
column pgsched.status.05 queue text
column pgsched.status.06 status pgsched.execution_status
column pgsched.status.07 target text
column pgsched.status.08 payload jsonb
column pgsched.status.09 scheduled_for timestamp with time zone
column pgsched.status.10 fire_at timestamp with time zone
column pgsched.status.11 attempt smallint
column pgsched.status.12 created_at timestamp with time zone
column pgsched.status.13 finished_at timestamp with time zone
column pgsched.status.14 status_code smallint
column pgsched.status.15 result jsonb
column pgsched.status.16 reason text
column pgsched.status.17 options jsonb
column pgsched.status.18 ordering_key text
column pgsched.status.19 worker integer
column pgsched.status.20 began_at timestamp with time zone
column pgsched.status.21 duration interval
column pgsched.status.22 lease_expires_at timestamp with time zone
column pgsched.status.23 instants bigint
column pgsched.status.24 last_scheduled_for timestamp with time zone
column pgsched.status.25 held_by text
column pgsched.status.26 labels jsonb
column pgsched.status.27 waits jsonb
column pgsched.undeliverable.01 needs text
column pgsched.undeliverable.02 held bigint
column pgsched.undeliverable.03 workers integer[]
column pgsched.workers.01 id integer not null identity
column pgsched.workers.02 name text not null
column pgsched.workers.03 queues text[] not null
column pgsched.workers.04 delivers text[] not null default '{}'::text[]
column pgsched.workers.05 concurrency integer not null default 1
column pgsched.workers.06 release text not null
column pgsched.workers.07 instance text not null default ''::text
column pgsched.workers.08 login oid
column pgsched.workers.09 lease interval not null default '00:00:30'::interval
column pgsched.workers.10 started_at timestamp with time zone not null default pgsched.now()
column pgsched.workers.11 expires_at timestamp with time zone not null
column pgsched.workers.12 lost_since timestamp with time zone
column pgsched_internal.api_keys.01 id text not null
column pgsched_internal.api_keys.02 hash bytea not null
column pgsched_internal.api_keys.03 former_hash bytea
column pgsched_internal.api_keys.04 former_until timestamp with time zone
column pgsched_internal.api_keys.05 subject text not null
column pgsched_internal.api_keys.06 clients text[]
column pgsched_internal.api_keys.07 scopes text[] not null
column pgsched_internal.api_keys.08 created_at timestamp with time zone not null default pgsched.now()
column pgsched_internal.api_keys.09 expires_at timestamp with time zone
column pgsched_internal.api_keys.10 last_used_at timestamp with time zone
column pgsched_internal.api_keys.11 revoked_at timestamp with time zone
column pgsched_internal.api_keys.12 rate integer
column pgsched_internal.api_keys.13 burst integer
column pgsched_internal.archived_days.01 day date not null
column pgsched_internal.archived_days.02 archived_at timestamp with time zone not null default pgsched.now()
column pgsched_internal.circles.01 client_id text not null
column pgsched_internal.counts_to_roll_up.01 id uuid not null default gen_random_uuid()
column pgsched_internal.counts_to_roll_up.02 noted_at timestamp with time zone not null
column pgsched_internal.counts_to_roll_up.03 count bigint not null
column pgsched_internal.counts_to_roll_up.04 status pgsched.execution_status
column pgsched_internal.counts_to_roll_up.05 partition smallint not null
column pgsched_internal.counts_to_roll_up.06 bucket smallint
column pgsched_internal.counts_to_roll_up.07 client_id text not null
column pgsched_internal.days.01 name text not null
column pgsched_internal.draining.01 worker integer not null
column pgsched_internal.draining.02 since timestamp with time zone not null default pgsched.now()
column pgsched_internal.draining.03 reason text
column pgsched_internal.ended.01 id uuid
column pgsched_internal.ended.02 client_id text
column pgsched_internal.ended.03 key text
column pgsched_internal.ended.04 job_id uuid
column pgsched_internal.ended.05 partition smallint
column pgsched_internal.ended.06 status pgsched.execution_status
column pgsched_internal.ended.07 target text
column pgsched_internal.ended.08 payload jsonb
column pgsched_internal.ended.09 scheduled_for timestamp with time zone
column pgsched_internal.ended.10 fire_at timestamp with time zone
column pgsched_internal.ended.11 attempt smallint
column pgsched_internal.ended.12 created_at timestamp with time zone
column pgsched_internal.ended.13 finished_at timestamp with time zone
column pgsched_internal.ended.14 status_code smallint
column pgsched_internal.ended.15 result jsonb
column pgsched_internal.ended.16 reason text
column pgsched_internal.ended.17 options jsonb
column pgsched_internal.ended.18 ordering_key text
column pgsched_internal.ended.19 worker integer
column pgsched_internal.ended.20 began_at timestamp with time zone
column pgsched_internal.ended.21 seconds real
column pgsched_internal.ended.22 lease_expires_at timestamp with time zone
column pgsched_internal.ended.23 instants bigint
column pgsched_internal.ended.24 last_scheduled_for timestamp with time zone
column pgsched_internal.ended.25 held_by text
column pgsched_internal.ended.26 labels jsonb
column pgsched_internal.ended.27 waits jsonb
column pgsched_internal.ends_to_mark.01 execution_id uuid not null
column pgsched_internal.ends_to_mark.02 after_id uuid not null
column pgsched_internal.ends_to_mark.03 noted_at timestamp with time zone not null default clock_timestamp()
column pgsched_internal.facts.01 name text not null
column pgsched_internal.facts.02 value text not null
column pgsched_internal.facts.03 updated_at timestamp with time zone not null default pgsched.now()
column pgsched_internal.fleet.01 singleton boolean not null default true
column pgsched_internal.fleet.02 system_identifier bigint
column pgsched_internal.fleet.03 database oid not null
column pgsched_internal.fleet.04 timeline integer
column pgsched_internal.fleet.05 server_started_at timestamp with time zone
column pgsched_internal.fleet.06 seen_at timestamp with time zone not null
column pgsched_internal.fleet.07 relation oid not null
column pgsched_internal.fleet.08 renewals bigint not null
column pgsched_internal.former_workers.01 id integer not null
column pgsched_internal.former_workers.02 name text not null
column pgsched_internal.former_workers.03 queues text[] not null
column pgsched_internal.former_workers.04 release text not null
column pgsched_internal.former_workers.05 started_at timestamp with time zone not null
column pgsched_internal.former_workers.06 lost_since timestamp with time zone
column pgsched_internal.former_workers.07 left_at timestamp with time zone not null default pgsched.now()
column pgsched_internal.gate_use.01 gate text not null
column pgsched_internal.gate_use.02 worker integer not null
column pgsched_internal.gate_use.03 running integer not null
column pgsched_internal.gates.01 name text not null
column pgsched_internal.gates.02 client_id text default CASE WHEN (name ~~ 'circuit:%'::text) THEN substr(name, (strpos(name, ' '::text) + 1)) ELSE NULL::text END
column pgsched_internal.gates.03 events integer
column pgsched_internal.gates.04 period interval
column pgsched_internal.gates.05 burst integer not null default 1
column pgsched_internal.gates.06 concurrency integer
column pgsched_internal.gates.07 next_at timestamp with time zone not null default '-infinity'::timestamp with time zone
column pgsched_internal.gates.08 shut_until timestamp with time zone
column pgsched_internal.gates.09 recovers_from timestamp with time zone
column pgsched_internal.gates.10 openings integer not null default 0
column pgsched_internal.gates.11 failing_since timestamp with time zone
column pgsched_internal.gates.12 reason text
column pgsched_internal.gates.13 updated_at timestamp with time zone not null default pgsched.now()
column pgsched_internal.job_moves.01 job_id uuid not null
column pgsched_internal.job_moves.02 partition smallint not null
column pgsched_internal.kept_dead_letters.01 finished_at timestamp with time zone not null
column pgsched_internal.kept_dead_letters.02 fire_at timestamp with time zone not null
column pgsched_internal.kept_dead_letters.03 scheduled_for timestamp with time zone not null
column pgsched_internal.kept_dead_letters.04 last_scheduled_for timestamp with time zone
column pgsched_internal.kept_dead_letters.05 created_at timestamp with time zone not null
column pgsched_internal.kept_dead_letters.06 began_at timestamp with time zone
column pgsched_internal.kept_dead_letters.07 instants bigint
column pgsched_internal.kept_dead_letters.08 settled_in bigint not null
column pgsched_internal.kept_dead_letters.09 id uuid not null
column pgsched_internal.kept_dead_letters.10 job_id uuid
column pgsched_internal.kept_dead_letters.11 status pgsched.execution_status not null
column pgsched_internal.kept_dead_letters.12 plan integer
column pgsched_internal.kept_dead_letters.13 worker integer
column pgsched_internal.kept_dead_letters.14 seconds real
column pgsched_internal.kept_dead_letters.15 partition smallint not null
column pgsched_internal.kept_dead_letters.16 attempt smallint not null
column pgsched_internal.kept_dead_letters.17 status_code smallint
column pgsched_internal.kept_dead_letters.18 awaited boolean
column pgsched_internal.kept_dead_letters.19 client_id text not null
column pgsched_internal.kept_dead_letters.20 target text not null
column pgsched_internal.kept_dead_letters.21 payload jsonb
column pgsched_internal.kept_dead_letters.22 options jsonb
column pgsched_internal.kept_dead_letters.23 key text
column pgsched_internal.kept_dead_letters.24 ordering_key text
column pgsched_internal.kept_dead_letters.25 result jsonb
column pgsched_internal.kept_dead_letters.26 reason text
column pgsched_internal.kept_dead_letters.27 replayed_as uuid
column pgsched_internal.kept_dead_letters.28 dealt_with_at timestamp with time zone
column pgsched_internal.kept_dead_letters.29 dealt_with_by text
column pgsched_internal.kept_dead_letters.30 labels jsonb
column pgsched_internal.kept_dead_letters.31 waits jsonb
column pgsched_internal.kept_dead_letters.32 tries jsonb not null
column pgsched_internal.keys.01 client_id pgsched_internal.client_id not null
column pgsched_internal.keys.02 key pgsched_internal.key not null
column pgsched_internal.keys.03 id uuid not null
column pgsched_internal.keys.04 partition smallint
column pgsched_internal.keys.05 look_at timestamp with time zone not null default (pgsched.now() + '24:00:00'::interval)
column pgsched_internal.live.01 id uuid
column pgsched_internal.live.02 client_id text
column pgsched_internal.live.03 key text
column pgsched_internal.live.04 job_id uuid
column pgsched_internal.live.05 partition smallint
column pgsched_internal.live.06 status pgsched.execution_status
column pgsched_internal.live.07 target text
column pgsched_internal.live.08 payload jsonb
column pgsched_internal.live.09 scheduled_for timestamp with time zone
column pgsched_internal.live.10 fire_at timestamp with time zone
column pgsched_internal.live.11 attempt smallint
column pgsched_internal.live.12 created_at timestamp with time zone
column pgsched_internal.live.13 finished_at timestamp with time zone
column pgsched_internal.live.14 status_code smallint
column pgsched_internal.live.15 result jsonb
column pgsched_internal.live.16 reason text
column pgsched_internal.live.17 options jsonb
column pgsched_internal.live.18 ordering_key text
column pgsched_internal.live.19 worker integer
column pgsched_internal.live.20 began_at timestamp with time zone
column pgsched_internal.live.21 seconds real
column pgsched_internal.live.22 lease_expires_at timestamp with time zone
column pgsched_internal.live.23 instants bigint
column pgsched_internal.live.24 last_scheduled_for timestamp with time zone
column pgsched_internal.live.25 held_by text
column pgsched_internal.live.26 labels jsonb
column pgsched_internal.live.27 waits jsonb
column pgsched_internal.locks.01 name text not null
column pgsched_internal.orderings.01 partition smallint not null
column pgsched_internal.results_to_record.01 id uuid not null default gen_random_uuid()
column pgsched_internal.results_to_record.02 client_id text not null
column pgsched_internal.results_to_record.03 execution_id uuid not null
column pgsched_internal.results_to_record.04 token bigint not null
column pgsched_internal.results_to_record.05 verb text not null
column pgsched_internal.results_to_record.06 result jsonb
column pgsched_internal.results_to_record.07 error text
column pgsched_internal.results_to_record.08 retryable boolean
column pgsched_internal.results_to_record.09 retry_after interval
column pgsched_internal.results_to_record.10 noted_at timestamp with time zone not null default clock_timestamp()
column pgsched_internal.results_to_record.11 try_at timestamp with time zone not null default clock_timestamp()
column pgsched_internal.rows_to_come_back_to.01 operation_id uuid not null
column pgsched_internal.rows_to_come_back_to.02 id uuid not null
column pgsched_internal.rows_to_come_back_to.03 finished_at timestamp with time zone
column pgsched_internal.rows_to_come_back_to.04 partition smallint
column pgsched_internal.rows_to_come_back_to.05 tried_at timestamp with time zone not null default clock_timestamp()
column pgsched_internal.secrets.01 client_id text not null
column pgsched_internal.secrets.02 name text not null
column pgsched_internal.secrets.03 sealed bytea not null
column pgsched_internal.secrets.04 hosts text[] not null default '{}'::text[]
column pgsched_internal.secrets.05 created_at timestamp with time zone not null default pgsched.now()
column pgsched_internal.secrets.06 updated_at timestamp with time zone not null default pgsched.now()
column pgsched_internal.secrets.07 full_name text not null default ((client_id || '/'::text) || name)
column pgsched_internal.signing_secrets.01 client_id text not null
column pgsched_internal.signing_secrets.02 sealed bytea not null
column pgsched_internal.signing_secrets.03 hint text not null
column pgsched_internal.signing_secrets.04 valid_until timestamp with time zone

-- constraints
constraint pgsched.attempts.attempts_execution PRIMARY KEY (execution_id, attempt, finished_at)
constraint pgsched.audit_log.audit_log_pkey PRIMARY KEY (id)
constraint pgsched.blocked_keys.blocked_keys_pkey PRIMARY KEY (client_id, ordering_key, partition)
constraint pgsched.bulk_operations.action_is_known CHECK ((action = ANY (ARRAY['cancel'::text, 'reschedule'::text, 'replay'::text, 'discard'::text, 'backfill'::text, 'pause'::text, 'resume'::text, 'cancel_jobs'::text])))
constraint pgsched.bulk_operations.bulk_operations_pkey PRIMARY KEY (id)
constraint pgsched.bulk_operations.bulk_state_is_known CHECK ((state = ANY (ARRAY['active'::text, 'stopped'::text, 'finished'::text])))
constraint pgsched.bulk_operations.rate_is_positive CHECK (((rate > (0)::double precision) AND (rate <= (100000)::double precision)))
constraint pgsched.bulk_operations.shift_is_at_most_3653_days CHECK (((shift >= '-3653 days'::interval) AND (shift <= '3653 days'::interval)))
constraint pgsched.clients.channels_are_1_to_20 CHECK ((((cardinality(channels) >= 1) AND (cardinality(channels) <= 20)) AND (array_position(channels, NULL::text) IS NULL)))
constraint pgsched.clients.client_id_is_1_to_100_characters CHECK (((length(client_id) >= 1) AND (length(client_id) <= 100)))
constraint pgsched.clients.client_is_active_or_held CHECK ((state = ANY (ARRAY['active'::text, 'held'::text])))
constraint pgsched.clients.clients_pkey PRIMARY KEY (client_id)
constraint pgsched.clients.dead_letters_for_is_1_hour_to_3653_days CHECK ((((dead_letters_for >= '01:00:00'::interval) AND (dead_letters_for <= '3653 days'::interval)) AND (date_trunc('month'::text, dead_letters_for) = '00:00:00'::interval)))
constraint pgsched.clients.late_after_is_1_millisecond_to_1_hour CHECK (((late_after >= '00:00:00.001'::interval) AND (late_after <= '01:00:00'::interval)))
constraint pgsched.clients.on_time_share_is_a_half_to_nearly_all CHECK (((on_time_share >= (0.5)::double precision) AND (on_time_share <= (0.9999)::double precision)))
constraint pgsched.dependencies.delay_is_0_to_3653_days CHECK (((delay >= '00:00:00'::interval) AND (delay <= '3653 days'::interval)))
constraint pgsched.dependencies.dependencies_pkey PRIMARY KEY (execution_id, after_id)
constraint pgsched.dependencies.outcome_is_success_or_any CHECK ((outcome = ANY (ARRAY['success'::text, 'any'::text])))
constraint pgsched.executions.attempt_is_0_to_1000 CHECK (((lease_token IS NOT NULL) OR ((attempt >= 0) AND (attempt <= 1000))))
constraint pgsched.executions.executions_pkey PRIMARY KEY (id, partition)
constraint pgsched.executions.partition_follows_the_key CHECK (((lease_token IS NOT NULL) OR (COALESCE((key)::text, (ordering_key)::text) IS NULL) OR pgsched_internal.check_partition(partition, (client_id)::text, (key)::text, (ordering_key)::text)))
constraint pgsched.history.history_id PRIMARY KEY (id, client_id, status, partition, finished_at)
constraint pgsched.installation.audit_days_are_0_to_36500 CHECK (((audit_days >= 0) AND (audit_days <= 36500)))
constraint pgsched.installation.history_days_are_1_to_3650 CHECK (((history_days >= 1) AND (history_days <= 3650)))
constraint pgsched.installation.hold_after_absence_is_1_second_to_3653_days CHECK ((((hold_after_absence >= '00:00:01'::interval) AND (hold_after_absence <= '3653 days'::interval)) AND (date_trunc('month'::text, hold_after_absence) = '00:00:00'::interval)))
constraint pgsched.installation.hold_after_promotion_is_1_second_to_3653_days CHECK ((((hold_after_promotion >= '00:00:01'::interval) AND (hold_after_promotion <= '3653 days'::interval)) AND (date_trunc('month'::text, hold_after_promotion) = '00:00:00'::interval)))
constraint pgsched.installation.hold_after_restart_is_1_second_to_3653_days CHECK ((((hold_after_restart >= '00:00:01'::interval) AND (hold_after_restart <= '3653 days'::interval)) AND (date_trunc('month'::text, hold_after_restart) = '00:00:00'::interval)))
constraint pgsched.installation.installation_pkey PRIMARY KEY (name)
constraint pgsched.installation.there_is_one_installation CHECK ((name = 'installation'::text))
constraint pgsched.jobs.accounted_to_is_an_instant CHECK (((accounted_to >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (accounted_to <= '9999-12-31 00:00:00+00'::timestamp with time zone)))
constraint pgsched.jobs.anchor_is_an_instant CHECK (((anchor >= '0001-01-02 00:00:00+00'::timestamp with time zone) AND (anchor <= '9000-01-01 00:00:00+00'::timestamp with time zone)))
constraint pgsched.jobs.declared_by_is_1_to_200_characters CHECK (((length(declared_by) >= 1) AND (length(declared_by) <= 200)))
constraint pgsched.jobs.either_cron_or_every CHECK (((num_nonnulls(cron, every) = 1) OR pgsched_internal.refuse('PS002'::text, 'a job needs either cron or every'::text, 'give exactly one of the two, such as cron => ''*/5 * * * *'''::text)))
constraint pgsched.jobs.every_is_whole_seconds_or_more CHECK (((every IS NULL) OR ((every >= '00:00:01'::interval) AND (every <= '3653 days'::interval) AND (EXTRACT(year FROM every) = (0)::numeric) AND (EXTRACT(month FROM every) = (0)::numeric)) OR pgsched_internal.refuse('PS002'::text, 'every must be between 1 second and 3653 days, without months or years'::text, 'write every => ''15 minutes'', or a cron expression for calendar months'::text)))
constraint pgsched.jobs.gap_is_shift_or_skip CHECK (((gap = ANY (ARRAY['shift'::text, 'skip'::text])) OR pgsched_internal.refuse('PS002'::text, format('gap cannot be %L'::text, gap), 'write shift or skip'::text)))
constraint pgsched.jobs.jobs_pkey PRIMARY KEY (id)
constraint pgsched.jobs.jobs_queue_fkey FOREIGN KEY (queue) REFERENCES pgsched.queues(name)
constraint pgsched.jobs.overlap_is_first_second_or_both CHECK (((overlap = ANY (ARRAY['first'::text, 'second'::text, 'both'::text])) OR pgsched_internal.refuse('PS002'::text, format('overlap cannot be %L'::text, overlap), 'write first, second or both'::text)))
constraint pgsched.jobs.paused_at_is_an_instant CHECK (((paused_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (paused_at <= '9000-01-01 00:00:00+00'::timestamp with time zone)))
constraint pgsched.jobs.timezone_is_at_most_100_characters CHECK ((length(timezone) <= 100))
constraint pgsched.jobs.updated_at_is_an_instant CHECK (((updated_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (updated_at <= '9000-01-01 00:00:00+00'::timestamp with time zone)))
constraint pgsched.progress.progress_fraction_check CHECK (((fraction >= (0)::double precision) AND (fraction <= (1)::double precision)))
constraint pgsched.progress.progress_pkey PRIMARY KEY (execution_id)
constraint pgsched.queues.first_partition_begins_a_queue CHECK (((first_partition >= 0) AND (((first_partition)::integer % pgsched_internal.partitions_per_queue()) = 0)))
constraint pgsched.queues.max_waiting_is_1_to_100_million CHECK (((max_waiting >= 1) AND (max_waiting <= 100000000)))
constraint pgsched.queues.queue_name_is_plain CHECK ((name ~ '^[a-z][a-z0-9_-]{0,62}$'::text))
constraint pgsched.queues.queues_first_partition_key UNIQUE (first_partition)
constraint pgsched.queues.queues_pkey PRIMARY KEY (name)
constraint pgsched.queues.the_queue_default_is_not_pulled CHECK ((NOT (pulled AND (name = 'default'::text))))
constraint pgsched.rollups.rollups_client PRIMARY KEY (client_id, minute, queue)
constraint pgsched.schema_version.schema_version_pkc PRIMARY KEY (version_num)
constraint pgsched.workers.workers_pkey PRIMARY KEY (id)
constraint pgsched_internal.api_keys.api_key_id_is_16_hexadecimal_digits CHECK ((id ~ '^[0-9a-f]{16}$'::text))
constraint pgsched_internal.api_keys.api_keys_pkey PRIMARY KEY (id)
constraint pgsched_internal.api_keys.clients_are_1_to_100 CHECK ((((cardinality(clients) >= 1) AND (cardinality(clients) <= 100)) AND (array_position(clients, NULL::text) IS NULL)))
constraint pgsched_internal.api_keys.former_hash_is_a_sha256 CHECK ((octet_length(former_hash) = 32))
constraint pgsched_internal.api_keys.hash_is_a_sha256 CHECK ((octet_length(hash) = 32))
constraint pgsched_internal.api_keys.key_burst_goes_with_a_rate CHECK (((burst IS NULL) OR (rate IS NOT NULL)))
constraint pgsched_internal.api_keys.key_burst_is_1_to_a_million CHECK (((burst >= 1) AND (burst <= 1000000)))
constraint pgsched_internal.api_keys.key_rate_is_1_to_a_million CHECK (((rate >= 1) AND (rate <= 1000000)))
constraint pgsched_internal.api_keys.scopes_are_schedule_read_operate_admin CHECK ((((cardinality(scopes) >= 1) AND (cardinality(scopes) <= 4)) AND (scopes <@ ARRAY['schedule'::text, 'read'::text, 'operate'::text, 'admin'::text])))
constraint pgsched_internal.api_keys.subject_is_1_to_200_characters CHECK (((length(subject) >= 1) AND (length(subject) <= 200)))
constraint pgsched_internal.archived_days.archived_days_pkey PRIMARY KEY (day)
constraint pgsched_internal.circles.circles_pkey PRIMARY KEY (client_id)
constraint pgsched_internal.counts_to_roll_up.counts_to_roll_up_pkey PRIMARY KEY (id)
constraint pgsched_internal.days.days_pkey PRIMARY KEY (name)
constraint pgsched_internal.draining.draining_pkey PRIMARY KEY (worker)
constraint pgsched_internal.ends_to_mark.ends_to_mark_pkey PRIMARY KEY (execution_id, after_id)
constraint pgsched_internal.facts.facts_pkey PRIMARY KEY (name)
constraint pgsched_internal.fleet.fleet_pkey PRIMARY KEY (singleton)
constraint pgsched_internal.fleet.there_is_one_fleet CHECK (singleton)
constraint pgsched_internal.former_workers.former_workers_pkey PRIMARY KEY (id)
constraint pgsched_internal.gate_use.gate_use_gate_fkey FOREIGN KEY (gate) REFERENCES pgsched_internal.gates(name) ON DELETE CASCADE
constraint pgsched_internal.gate_use.gate_use_pkey PRIMARY KEY (gate, worker)
constraint pgsched_internal.gate_use.gate_use_worker_fkey FOREIGN KEY (worker) REFERENCES pgsched.workers(id) ON DELETE CASCADE
constraint pgsched_internal.gates.burst_is_1_to_a_million CHECK (((burst >= 1) AND (burst <= 1000000)))
constraint pgsched_internal.gates.concurrency_is_1_to_a_million CHECK (((concurrency >= 1) AND (concurrency <= 1000000)))
constraint pgsched_internal.gates.events_are_1_to_a_million CHECK (((events >= 1) AND (events <= 1000000)))
constraint pgsched_internal.gates.events_have_a_period CHECK ((num_nonnulls(events, period) <> 1))
constraint pgsched_internal.gates.gate_is_of_a_known_kind CHECK (((length(name) <= 600) AND (name ~ '^(client|host|queue|key|circuit):.'::text)))
constraint pgsched_internal.gates.gates_pkey PRIMARY KEY (name)
constraint pgsched_internal.gates.period_is_1_millisecond_to_366_days CHECK ((((period >= '00:00:00.001'::interval) AND (period <= '366 days'::interval)) AND (date_trunc('month'::text, period) = '00:00:00'::interval)))
constraint pgsched_internal.job_moves.job_moves_job_id_fkey FOREIGN KEY (job_id) REFERENCES pgsched.jobs(id) ON DELETE CASCADE
constraint pgsched_internal.job_moves.job_moves_pkey PRIMARY KEY (job_id, partition)
constraint pgsched_internal.kept_dead_letters.kept_dead_letters_pkey PRIMARY KEY (id)
constraint pgsched_internal.keys.keys_pkey PRIMARY KEY (client_id, key)
constraint pgsched_internal.locks.locks_pkey PRIMARY KEY (name)
constraint pgsched_internal.orderings.orderings_pkey PRIMARY KEY (partition)
constraint pgsched_internal.results_to_record.results_to_record_pkey PRIMARY KEY (id)
constraint pgsched_internal.results_to_record.verb_is_complete_fail_or_release CHECK ((verb = ANY (ARRAY['complete'::text, 'fail'::text, 'release'::text])))
constraint pgsched_internal.rows_to_come_back_to.rows_to_come_back_to_operation_id_fkey FOREIGN KEY (operation_id) REFERENCES pgsched.bulk_operations(id) ON DELETE CASCADE
constraint pgsched_internal.rows_to_come_back_to.rows_to_come_back_to_pkey PRIMARY KEY (operation_id, id)
constraint pgsched_internal.secrets.hosts_are_at_most_20 CHECK (((cardinality(hosts) <= 20) AND (array_position(hosts, NULL::text) IS NULL)))
constraint pgsched_internal.secrets.sealed_is_at_most_16_kib CHECK (((octet_length(sealed) >= 38) AND (octet_length(sealed) <= 16450)))
constraint pgsched_internal.secrets.secret_name_is_1_to_100_letters CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'::text))
constraint pgsched_internal.secrets.secrets_client_id_fkey FOREIGN KEY (client_id) REFERENCES pgsched.clients(client_id) ON DELETE CASCADE
constraint pgsched_internal.secrets.secrets_pkey PRIMARY KEY (client_id, name)
constraint pgsched_internal.signing_secrets.hint_is_4_characters CHECK ((length(hint) = 4))
constraint pgsched_internal.signing_secrets.sealed_is_a_signing_secret CHECK (((octet_length(sealed) >= 75) AND (octet_length(sealed) <= 131)))
constraint pgsched_internal.signing_secrets.signing_secrets_client_id_fkey FOREIGN KEY (client_id) REFERENCES pgsched.clients(client_id) ON DELETE CASCADE
constraint pgsched_internal.signing_secrets.signing_secrets_pkey PRIMARY KEY (client_id, sealed)

-- indexes
CREATE INDEX audit_log_client ON pgsched.audit_log USING btree (client_id, id) WHERE (client_id IS NOT NULL)
CREATE INDEX audit_log_name ON pgsched.audit_log USING btree (name, kind, id) WHERE (name IS NOT NULL)
CREATE INDEX audit_log_subject ON pgsched.audit_log USING btree (subject, id) WHERE (subject IS NOT NULL)
CREATE INDEX blocked_keys_client ON pgsched.blocked_keys USING btree (client_id, execution_id)
CREATE INDEX blocked_keys_execution ON pgsched.blocked_keys USING btree (execution_id)
CREATE INDEX bulk_operations_active ON pgsched.bulk_operations USING btree (id) WHERE (state = 'active'::text)
CREATE INDEX bulk_operations_job ON pgsched.bulk_operations USING btree (job_id, id) WHERE (job_id IS NOT NULL)
CREATE INDEX dependencies_after ON pgsched.dependencies USING btree (after_id, execution_id) WHERE (status IS NULL)
CREATE INDEX ends_to_mark_after ON pgsched_internal.ends_to_mark USING btree (after_id)
CREATE INDEX ends_to_mark_noted_at ON pgsched_internal.ends_to_mark USING btree (noted_at)
CREATE INDEX executions_fire_at ON ONLY pgsched.executions USING btree (partition, fire_at)
CREATE INDEX executions_gate ON ONLY pgsched.executions USING btree (gate, COALESCE((((options)::jsonb ->> 'priority'::text))::smallint, (0)::smallint) DESC, scheduled_for, id) WHERE ((gate IS NOT NULL) AND (NOT isfinite((fire_at)::timestamp with time zone)))
CREATE INDEX executions_held_until ON ONLY pgsched.executions USING btree (held_until) WHERE ((gate <> 'error'::text) AND (NOT isfinite((fire_at)::timestamp with time zone)) AND (held_until IS NOT NULL))
CREATE INDEX executions_key ON ONLY pgsched.executions USING btree (client_id, key) WHERE (key IS NOT NULL)
CREATE INDEX executions_labelled ON ONLY pgsched.executions USING btree (client_id, id) WHERE (labels IS NOT NULL)
CREATE INDEX executions_ordering ON ONLY pgsched.executions USING btree (client_id, ordering_key, COALESCE((scheduled_for)::timestamp with time zone, (fire_at)::timestamp with time zone), id) WHERE (ordering_key IS NOT NULL)
CREATE INDEX executions_priority ON ONLY pgsched.executions USING btree (((((options)::jsonb ->> 'priority'::text))::smallint), fire_at) WHERE ((options)::jsonb ? 'priority'::text)
CREATE INDEX gates_of_client ON pgsched_internal.gates USING btree (client_id, name) WHERE (client_id IS NOT NULL)
CREATE INDEX history_awaited ON ONLY pgsched.history USING btree (id) WHERE awaited
CREATE INDEX history_failed ON ONLY pgsched.history USING btree (id, client_id, dealt_with_at) WHERE (status = 'failed'::pgsched.execution_status)
CREATE INDEX history_job ON ONLY pgsched.history USING btree (job_id, scheduled_for) WHERE (job_id IS NOT NULL)
CREATE INDEX history_key ON ONLY pgsched.history USING btree (client_id, key) WHERE (key IS NOT NULL)
CREATE INDEX history_labelled ON ONLY pgsched.history USING btree (client_id, id) WHERE (labels IS NOT NULL)
CREATE INDEX history_settled_in ON ONLY pgsched.history USING brin (settled_in) WITH (pages_per_range='64', autosummarize='on')
CREATE INDEX jobs_client ON pgsched.jobs USING btree (client_id, id, state)
CREATE INDEX jobs_declared ON pgsched.jobs USING btree (declared_by) WHERE (declared_by IS NOT NULL)
CREATE INDEX jobs_ended ON pgsched.jobs USING btree (updated_at) WHERE ((state = ANY (ARRAY['finished'::pgsched.job_state, 'cancelled'::pgsched.job_state])) AND ((rules)::jsonb ? 'delete_after'::text))
CREATE INDEX jobs_invalid ON pgsched.jobs USING btree (client_id, id) WHERE (state = 'invalid'::pgsched.job_state)
CREATE INDEX jobs_key ON pgsched.jobs USING btree (client_id, key) WHERE (key IS NOT NULL)
CREATE INDEX jobs_labels ON pgsched.jobs USING gin (labels jsonb_path_ops) WHERE (labels IS NOT NULL)
CREATE INDEX jobs_unplanned ON pgsched.jobs USING btree (client_id, id) WHERE ((state = 'active'::pgsched.job_state) AND (planned_revision <> revision))
CREATE INDEX kept_dead_letters_finished_at ON pgsched_internal.kept_dead_letters USING btree (finished_at)
CREATE INDEX kept_dead_letters_key ON pgsched_internal.kept_dead_letters USING btree (client_id, key) WHERE (key IS NOT NULL)
CREATE INDEX keys_look_at ON pgsched_internal.keys USING btree (look_at)
CREATE INDEX results_to_record_client ON pgsched_internal.results_to_record USING btree (client_id)
CREATE INDEX results_to_record_execution ON pgsched_internal.results_to_record USING btree (execution_id)
CREATE INDEX results_to_record_try_at ON pgsched_internal.results_to_record USING btree (try_at)
CREATE INDEX rollups_minute ON ONLY pgsched.rollups USING btree (minute)
CREATE UNIQUE INDEX api_keys_pkey ON pgsched_internal.api_keys USING btree (id)
CREATE UNIQUE INDEX archived_days_pkey ON pgsched_internal.archived_days USING btree (day)
CREATE UNIQUE INDEX attempts_execution ON ONLY pgsched.attempts USING btree (execution_id, attempt, finished_at)
CREATE UNIQUE INDEX audit_log_change ON pgsched.audit_log USING btree (transaction, at, kind, name) WHERE (action = ANY (ARRAY['insert'::text, 'update'::text, 'delete'::text]))
CREATE UNIQUE INDEX audit_log_pkey ON pgsched.audit_log USING btree (id)
CREATE UNIQUE INDEX blocked_keys_pkey ON pgsched.blocked_keys USING btree (client_id, ordering_key, partition)
CREATE UNIQUE INDEX bulk_operations_pkey ON pgsched.bulk_operations USING btree (id)
CREATE UNIQUE INDEX circles_pkey ON pgsched_internal.circles USING btree (client_id)
CREATE UNIQUE INDEX clients_pkey ON pgsched.clients USING btree (client_id)
CREATE UNIQUE INDEX counts_to_roll_up_pkey ON pgsched_internal.counts_to_roll_up USING btree (id)
CREATE UNIQUE INDEX days_pkey ON pgsched_internal.days USING btree (name)
CREATE UNIQUE INDEX dependencies_pkey ON pgsched.dependencies USING btree (execution_id, after_id)
CREATE UNIQUE INDEX draining_pkey ON pgsched_internal.draining USING btree (worker)
CREATE UNIQUE INDEX ends_to_mark_pkey ON pgsched_internal.ends_to_mark USING btree (execution_id, after_id)
CREATE UNIQUE INDEX executions_head ON ONLY pgsched.executions USING btree (client_id, ordering_key, partition) WHERE at_head
CREATE UNIQUE INDEX executions_job ON ONLY pgsched.executions USING btree (job_id, scheduled_for, partition) WHERE (job_id IS NOT NULL)
CREATE UNIQUE INDEX executions_pkey ON ONLY pgsched.executions USING btree (id, partition)
CREATE UNIQUE INDEX facts_pkey ON pgsched_internal.facts USING btree (name)
CREATE UNIQUE INDEX fleet_pkey ON pgsched_internal.fleet USING btree (singleton)
CREATE UNIQUE INDEX former_workers_pkey ON pgsched_internal.former_workers USING btree (id)
CREATE UNIQUE INDEX gate_use_pkey ON pgsched_internal.gate_use USING btree (gate, worker)
CREATE UNIQUE INDEX gates_pkey ON pgsched_internal.gates USING btree (name)
CREATE UNIQUE INDEX history_id ON ONLY pgsched.history USING btree (id, client_id, status, partition, finished_at)
CREATE UNIQUE INDEX installation_pkey ON pgsched.installation USING btree (name)
CREATE UNIQUE INDEX job_moves_pkey ON pgsched_internal.job_moves USING btree (job_id, partition)
CREATE UNIQUE INDEX jobs_client_key ON pgsched.jobs USING btree (client_id, key) WHERE ((key IS NOT NULL) AND (state <> 'cancelled'::pgsched.job_state))
CREATE UNIQUE INDEX jobs_pkey ON pgsched.jobs USING btree (id)
CREATE UNIQUE INDEX kept_dead_letters_pkey ON pgsched_internal.kept_dead_letters USING btree (id)
CREATE UNIQUE INDEX keys_pkey ON pgsched_internal.keys USING btree (client_id, key)
CREATE UNIQUE INDEX locks_pkey ON pgsched_internal.locks USING btree (name)
CREATE UNIQUE INDEX one_signing_secret_without_end ON pgsched_internal.signing_secrets USING btree (client_id) WHERE (valid_until IS NULL)
CREATE UNIQUE INDEX orderings_pkey ON pgsched_internal.orderings USING btree (partition)
CREATE UNIQUE INDEX progress_pkey ON pgsched.progress USING btree (execution_id)
CREATE UNIQUE INDEX queues_first_partition_key ON pgsched.queues USING btree (first_partition)
CREATE UNIQUE INDEX queues_pkey ON pgsched.queues USING btree (name)
CREATE UNIQUE INDEX results_to_record_pkey ON pgsched_internal.results_to_record USING btree (id)
CREATE UNIQUE INDEX rollups_client ON ONLY pgsched.rollups USING btree (client_id, minute, queue)
CREATE UNIQUE INDEX rows_to_come_back_to_pkey ON pgsched_internal.rows_to_come_back_to USING btree (operation_id, id)
CREATE UNIQUE INDEX schema_version_pkc ON pgsched.schema_version USING btree (version_num)
CREATE UNIQUE INDEX secrets_pkey ON pgsched_internal.secrets USING btree (client_id, name)
CREATE UNIQUE INDEX signing_secrets_pkey ON pgsched_internal.signing_secrets USING btree (client_id, sealed)
CREATE UNIQUE INDEX workers_pkey ON pgsched.workers USING btree (id)

-- partitions
partition pgsched_internal.attempts_default of pgsched.attempts DEFAULT
partition pgsched_internal.executions_0 of pgsched.executions FOR VALUES IN ('0') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_1 of pgsched.executions FOR VALUES IN ('1') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_10 of pgsched.executions FOR VALUES IN ('10') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_11 of pgsched.executions FOR VALUES IN ('11') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_12 of pgsched.executions FOR VALUES IN ('12') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_13 of pgsched.executions FOR VALUES IN ('13') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_14 of pgsched.executions FOR VALUES IN ('14') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_15 of pgsched.executions FOR VALUES IN ('15') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_2 of pgsched.executions FOR VALUES IN ('2') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_3 of pgsched.executions FOR VALUES IN ('3') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_4 of pgsched.executions FOR VALUES IN ('4') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_5 of pgsched.executions FOR VALUES IN ('5') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_6 of pgsched.executions FOR VALUES IN ('6') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_7 of pgsched.executions FOR VALUES IN ('7') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_8 of pgsched.executions FOR VALUES IN ('8') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.executions_9 of pgsched.executions FOR VALUES IN ('9') with (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_insert_scale_factor=0.2, autovacuum_analyze_scale_factor=0.1, autovacuum_analyze_threshold=5000)
partition pgsched_internal.history_default of pgsched.history DEFAULT
partition pgsched_internal.rollups_default of pgsched.rollups DEFAULT

-- triggers
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE OF client_id, key, queue, ordering_key, target, payload, options, rules, labels, cron, timezone, every, anchor, gap, overlap, state, declared_by, exceptions ON pgsched.jobs FOR EACH ROW EXECUTE FUNCTION pgsched_internal.changed('job', 'id', 'id')
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE OF hash, subject, clients, scopes, expires_at, revoked_at, rate, burst ON pgsched_internal.api_keys FOR EACH ROW EXECUTE FUNCTION pgsched_internal.changed('key', 'id')
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE OF options, weight, max_waiting, paused_at, reason, pulled ON pgsched.queues FOR EACH ROW EXECUTE FUNCTION pgsched_internal.changed('queue', 'name')
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON pgsched.clients FOR EACH ROW EXECUTE FUNCTION pgsched_internal.changed('client', 'client_id')
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON pgsched.installation FOR EACH ROW EXECUTE FUNCTION pgsched_internal.changed('installation', 'name')
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON pgsched_internal.secrets FOR EACH ROW EXECUTE FUNCTION pgsched_internal.changed('secret', 'full_name')
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON pgsched_internal.signing_secrets FOR EACH ROW EXECUTE FUNCTION pgsched_internal.changed('client', 'client_id')
CREATE TRIGGER changed AFTER INSERT OR UPDATE OF action, state, rate, target, fire_at, shift, filter ON pgsched.bulk_operations FOR EACH ROW EXECUTE FUNCTION pgsched_internal.changed('bulk operation', 'id', 'id')
CREATE TRIGGER changed AFTER INSERT OR UPDATE OF events, period, burst, concurrency ON pgsched_internal.gates FOR EACH ROW WHEN (((num_nonnulls(new.events, new.concurrency) > 0) AND (new.name !~~ 'circuit:%'::text))) EXECUTE FUNCTION pgsched_internal.changed('limit', 'name')
CREATE TRIGGER circle_refused BEFORE INSERT OR UPDATE OF rules, key ON pgsched.jobs FOR EACH ROW WHEN ((((new.rules)::jsonb ? 'after'::text) AND (new.key IS NOT NULL))) EXECUTE FUNCTION pgsched_internal.circle_refused()
CREATE TRIGGER clients_changed AFTER INSERT OR DELETE OR UPDATE ON pgsched.clients FOR EACH STATEMENT EXECUTE FUNCTION pgsched_internal.workers_told('clients')
CREATE TRIGGER days_followed AFTER INSERT ON pgsched_internal.days FOR EACH ROW EXECUTE FUNCTION pgsched_internal.days_followed() (replica)
CREATE TRIGGER dropped AFTER DELETE ON pgsched_internal.gates FOR EACH ROW WHEN (((num_nonnulls(old.events, old.concurrency) > 0) AND (old.name !~~ 'circuit:%'::text))) EXECUTE FUNCTION pgsched_internal.changed('limit', 'name')
CREATE TRIGGER dropped_day_followed AFTER DELETE ON pgsched_internal.days FOR EACH ROW EXECUTE FUNCTION pgsched_internal.dropped_day_followed() (replica)
CREATE TRIGGER dropped_queue_followed AFTER DELETE ON pgsched.queues FOR EACH ROW WHEN ((old.name <> 'default'::text)) EXECUTE FUNCTION pgsched_internal.dropped_queue_followed() (replica)
CREATE TRIGGER executions_inserted AFTER INSERT ON pgsched.executions REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT WHEN ((((current_setting('pgsched.notify'::text, true) IS DISTINCT FROM 'told'::text) AND ((current_setting('pgsched.notify'::text, true) IS DISTINCT FROM 'off'::text) OR (current_setting('pgsched.unbounded'::text, true) IS DISTINCT FROM 'on'::text))) OR (NOT has_table_privilege((COALESCE(NULLIF(current_setting('role'::text), 'none'::text), (SESSION_USER)::text))::name, ('pgsched.executions'::regclass)::oid, 'UPDATE'::text)))) EXECUTE FUNCTION pgsched_internal.executions_inserted()
CREATE TRIGGER executions_keys AFTER INSERT ON pgsched.executions REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT WHEN (((current_setting('pgsched.notify'::text, true) IS DISTINCT FROM 'told'::text) OR (NOT has_table_privilege(('pgsched.executions'::regclass)::oid, 'UPDATE'::text)))) EXECUTE FUNCTION pgsched_internal.keys_inserted()
CREATE TRIGGER job_checked BEFORE INSERT OR UPDATE OF client_id, target, payload, options ON pgsched.jobs FOR EACH ROW EXECUTE FUNCTION pgsched_internal.job_checked()
CREATE TRIGGER jobs_edited AFTER UPDATE OF revision ON pgsched.jobs FOR EACH STATEMENT EXECUTE FUNCTION pgsched_internal.workers_told('plan')
CREATE TRIGGER jobs_inserted AFTER INSERT ON pgsched.jobs FOR EACH STATEMENT EXECUTE FUNCTION pgsched_internal.workers_told('plan')
CREATE TRIGGER jobs_keys AFTER INSERT ON pgsched.jobs REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION pgsched_internal.job_keys_inserted()
CREATE TRIGGER queue_followed AFTER INSERT ON pgsched.queues FOR EACH ROW EXECUTE FUNCTION pgsched_internal.queue_followed() (replica)
CREATE TRIGGER queues_changed AFTER INSERT OR DELETE OR UPDATE OF name, first_partition, options, weight, max_waiting, paused_at ON pgsched.queues FOR EACH STATEMENT EXECUTE FUNCTION pgsched_internal.workers_told('queues')
CREATE TRIGGER secrets_changed AFTER INSERT OR DELETE OR UPDATE ON pgsched_internal.secrets FOR EACH STATEMENT EXECUTE FUNCTION pgsched_internal.workers_told('clients')
CREATE TRIGGER signing_secrets_changed AFTER INSERT OR DELETE OR UPDATE ON pgsched_internal.signing_secrets FOR EACH STATEMENT EXECUTE FUNCTION pgsched_internal.workers_told('clients')
CREATE TRIGGER unlimited AFTER UPDATE OF events, period, burst, concurrency ON pgsched_internal.gates FOR EACH ROW WHEN (((num_nonnulls(old.events, old.concurrency) > 0) AND (num_nonnulls(new.events, new.concurrency) = 0) AND (old.name !~~ 'circuit:%'::text))) EXECUTE FUNCTION pgsched_internal.changed('limit', 'name')
CREATE TRIGGER worker_left AFTER DELETE ON pgsched.workers FOR EACH ROW EXECUTE FUNCTION pgsched_internal.worker_left()

-- policies
policy api on pgsched.attempts for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR (client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api on pgsched.audit_log for r to {pgsched_api} using ((( SELECT pgsched_internal.api_administers() AS api_administers) OR (client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))) OR ((client_id IS NOT NULL) AND ( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all)))) check ()
policy api on pgsched.blocked_keys for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR (client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api on pgsched.bulk_operations for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR (clients <@ ( SELECT pgsched_internal.api_clients() AS api_clients)))) check ()
policy api on pgsched.clients for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR (client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api on pgsched.dependencies for r to {pgsched_api} using ((EXISTS ( SELECT FROM pgsched.executions e WHERE (e.id = dependencies.execution_id)))) check ()
policy api on pgsched.executions for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR ((client_id)::text = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api on pgsched.history for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR (client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api on pgsched.jobs for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR ((client_id)::text = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api on pgsched.progress for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR (client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api on pgsched.rollups for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR (client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api on pgsched_internal.api_keys for r to {pgsched_api} using (( SELECT pgsched_internal.api_administers() AS api_administers)) check ()
policy api on pgsched_internal.facts for r to {pgsched_api} using (true) check ()
policy api on pgsched_internal.gates for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR (client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api on pgsched_internal.kept_dead_letters for r to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR (client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy api_new on pgsched.executions for a to {pgsched_api} using () check ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR ((client_id)::text = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest)))))
policy api_set on pgsched.jobs for w to {pgsched_api} using ((( SELECT pgsched_internal.api_acts_for_all() AS api_acts_for_all) OR ((client_id)::text = ANY (ARRAY( SELECT unnest(pgsched_internal.api_clients()) AS unnest))))) check ()
policy mine on pgsched.attempts for r to {pgsched_client} using ((client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest)))) check ()
policy mine on pgsched.audit_log for r to {pgsched_client} using ((client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest)))) check ()
policy mine on pgsched.blocked_keys for r to {pgsched_client} using ((client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest)))) check ()
policy mine on pgsched.bulk_operations for r to {pgsched_client} using ((clients <@ pgsched_internal.my_clients())) check ()
policy mine on pgsched.clients for r to {pgsched_client} using ((EXISTS ( SELECT FROM pg_roles r WHERE ((r.rolname = clients.database_role) AND pg_has_role(r.oid, 'MEMBER'::text))))) check ()
policy mine on pgsched.dependencies for r to {pgsched_client} using ((EXISTS ( SELECT FROM pgsched.executions e WHERE (e.id = dependencies.execution_id)))) check ()
policy mine on pgsched.executions for r to {pgsched_client} using (((client_id)::text = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest)))) check ()
policy mine on pgsched.history for r to {pgsched_client} using ((client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest)))) check ()
policy mine on pgsched.jobs for r to {pgsched_client} using (((client_id)::text = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest)))) check ()
policy mine on pgsched.progress for r to {pgsched_client} using ((client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest)))) check ()
policy mine on pgsched.rollups for r to {pgsched_client} using ((client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest)))) check ()
policy mine on pgsched_internal.kept_dead_letters for r to {pgsched_client} using ((client_id = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest)))) check ()
policy mine_new on pgsched.executions for a to {pgsched_client} using () check (((client_id)::text = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest))))
policy mine_new on pgsched.jobs for a to {pgsched_client} using () check (((client_id)::text = ANY (ARRAY( SELECT unnest(pgsched_internal.my_clients()) AS unnest))))
policy reader on pgsched.attempts for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.audit_log for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.blocked_keys for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.bulk_operations for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.clients for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.dependencies for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.executions for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.history for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.jobs for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.progress for r to {pgsched_reader} using (true) check ()
policy reader on pgsched.rollups for r to {pgsched_reader} using (true) check ()
policy reader on pgsched_internal.api_keys for r to {pgsched_reader} using (true) check ()
policy reader on pgsched_internal.facts for r to {pgsched_reader} using (true) check ()
policy reader on pgsched_internal.gates for r to {pgsched_reader} using (true) check ()
policy reader on pgsched_internal.kept_dead_letters for r to {pgsched_reader} using (true) check ()
policy worker on pgsched.attempts for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.audit_log for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.blocked_keys for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.bulk_operations for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.clients for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.dependencies for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.executions for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.history for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.jobs for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.progress for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched.rollups for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched_internal.api_keys for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched_internal.facts for r to {pgsched_worker} using (true) check ()
policy worker on pgsched_internal.gates for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched_internal.kept_dead_letters for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched_internal.secrets for * to {pgsched_worker} using (true) check (true)
policy worker on pgsched_internal.signing_secrets for * to {pgsched_worker} using (true) check (true)
policy worker_set on pgsched_internal.facts for * to {pgsched_worker} using ((name ~~ 'tzdata%'::text)) check ()

-- functions
function pgsched.bulk(text,jsonb,double precision,text,timestamp with time zone,interval,boolean,interval,text,text) returns record volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.cancel(uuid,text,text,text,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.claim(text,text,integer,interval) returns TABLE(id uuid, token bigint, attempt smallint, delivery_count integer, scheduled_for timestamp with time zone, client text, key text, ordering_key text, job_id uuid, payload jsonb, target text, options jsonb, lease_expires_at timestamp with time zone) volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan, enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off
function pgsched.complete(uuid,bigint,jsonb) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.create_queue(text,jsonb,text) returns smallint volatility v parallel u security definer set search_path=pg_catalog, pg_temp, lock_timeout=1s
function pgsched.discard(uuid,text,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.drop_client(text,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.drop_limit(text,text,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.drop_queue(text,text) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp, lock_timeout=1s
function pgsched.drop_secret(text,text,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.drop_signing_secret(text,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.edit(uuid,jsonb,text,text,text,text,boolean) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.extend(uuid,bigint,interval) returns timestamp with time zone volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.fail(uuid,bigint,text,boolean,interval) returns pgsched.execution_status volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.now() returns timestamp with time zone volatility s parallel s
function pgsched.partition_for(text,text,text,text) returns smallint volatility v parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched.pause(text,text,text,timestamp with time zone,text,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.release(uuid,bigint) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.replay(uuid,text,jsonb,jsonb,text,text) returns uuid volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.resume(text,text,text,text,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched.schedule(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) returns uuid volatility v parallel u
function pgsched.schedule_outcome(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) returns record volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.secrets(text) returns SETOF record volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.set_client(text,jsonb,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.set_installation(jsonb,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.set_limit(text,text,integer,interval,integer,integer,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.set_queue(text,jsonb,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.signing_secrets(text) returns SETOF record volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.status_of(uuid,text,text) returns SETOF pgsched.status volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.stop_bulk(uuid,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched.trigger(uuid,text) returns uuid volatility v parallel u security definer set search_path=pg_catalog, pg_temp, plan_cache_mode=force_custom_plan
function pgsched_internal.account_from_claimed(uuid,integer,uuid[]) returns void volatility v parallel u
function pgsched_internal.accounted_to(pgsched.jobs,boolean) returns timestamp with time zone volatility s parallel s
function pgsched_internal.acting_role() returns name volatility s parallel s
function pgsched_internal.acts_for(text) returns boolean volatility s parallel s
function pgsched_internal.add_to_rollups(pgsched.rollups[]) returns void volatility v parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.adopt_strays(text) returns text volatility v parallel u security definer set search_path=pg_catalog, pg_temp, TimeZone=UTC, DateStyle=ISO, MDY, lock_timeout=50ms
function pgsched_internal.advance_bulk(uuid,integer) returns record volatility v parallel u set enable_sort=off, enable_hashjoin=off
function pgsched_internal.advance_sequences() returns void volatility v parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.any_partition_of(integer) returns smallint volatility v parallel s
function pgsched_internal.api_acts_for_all() returns boolean volatility s parallel s
function pgsched_internal.api_administers() returns boolean volatility s parallel s
function pgsched_internal.api_clients() returns text[] volatility s parallel s
function pgsched_internal.attach_day(text,date) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.attach_if_free(text,date) returns boolean volatility v parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.attempts_in(jsonb) returns numeric volatility i parallel s
function pgsched_internal.authenticated() returns text volatility s parallel s
function pgsched_internal.backoff(jsonb,integer,double precision) returns double precision volatility i parallel s
function pgsched_internal.block_key(smallint,text,text,uuid,text) returns void volatility v parallel u
function pgsched_internal.block_while_called(pgsched.executions) returns void volatility v parallel u
function pgsched_internal.bound_strays(text,text,date,date) returns void volatility v parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.bring_along(uuid) returns void volatility v parallel u
function pgsched_internal.buckets() returns double precision[] volatility i parallel s
function pgsched_internal.bury(smallint,uuid,text) returns void volatility v parallel u
function pgsched_internal.call_target(text,text,jsonb,text,integer,timestamp with time zone,smallint,uuid,bigint) returns void volatility v parallel u
function pgsched_internal.cancel_backfilled(pgsched.bulk_operations) returns void volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.cancel_locked(pgsched.executions,text,text) returns void volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.canonical_host(text) returns text volatility i parallel s
function pgsched_internal.capability_of(text) returns text volatility i parallel s
function pgsched_internal.carry_on(uuid,timestamp with time zone) returns void volatility v parallel u
function pgsched_internal.catalogue() returns jsonb volatility s parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.change_chunk(pgsched.bulk_operations,integer,integer) returns record volatility v parallel u
function pgsched_internal.change_execution(pgsched.bulk_operations,uuid,smallint) returns text volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.change_jobs(text,jsonb,text[],text,text) returns integer volatility v parallel u
function pgsched_internal.change_letter(pgsched.bulk_operations,uuid,timestamp with time zone) returns text volatility v parallel u
function pgsched_internal.change_or_come_back(pgsched.bulk_operations,uuid,timestamp with time zone,smallint,boolean) returns text volatility v parallel u set lock_timeout=5ms
function pgsched_internal.changed() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_acts_for(text) returns boolean volatility s parallel s
function pgsched_internal.check_administers() returns boolean volatility s parallel s
function pgsched_internal.check_after(text[],text,text,text) returns boolean volatility i parallel s
function pgsched_internal.check_after_rule(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_auth(jsonb) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_backfill(jsonb,boolean) returns text volatility v parallel u
function pgsched_internal.check_backoff(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_body(jsonb,jsonb) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_body_option(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_bulk(text,jsonb,double precision,text,timestamp with time zone,interval) returns boolean volatility s parallel u
function pgsched_internal.check_bulk_filter(text,jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_changes(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_channel(text,text) returns boolean volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_channels(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_claim(text,text,integer,interval) returns smallint volatility s parallel s
function pgsched_internal.check_client_changes(jsonb) returns boolean volatility s parallel u
function pgsched_internal.check_cron(text) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_defaults(jsonb) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_delivery(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_ended(uuid,text) returns boolean volatility v parallel u
function pgsched_internal.check_exclusion(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_execution_changes(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_filter_members(jsonb,text,text[]) returns boolean volatility i parallel s
function pgsched_internal.check_headers(jsonb) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_instant(timestamp with time zone) returns boolean volatility i parallel s
function pgsched_internal.check_key(text,text[],text[],timestamp with time zone) returns boolean volatility s parallel u
function pgsched_internal.check_key_rate(integer,integer) returns boolean volatility i parallel u
function pgsched_internal.check_labels(jsonb) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_lease(interval) returns boolean volatility i parallel s
function pgsched_internal.check_length(jsonb,text,integer) returns boolean volatility i parallel s set search_path=pg_catalog, pg_temp
function pgsched_internal.check_limit(integer,interval,integer,integer) returns boolean volatility i parallel s
function pgsched_internal.check_lists(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_may_pause(text,text,text) returns boolean volatility s parallel u
function pgsched_internal.check_may_set(text) returns boolean volatility s parallel u
function pgsched_internal.check_may_sideline(text) returns boolean volatility s parallel u
function pgsched_internal.check_members(jsonb,text[]) returns boolean volatility i parallel s
function pgsched_internal.check_named(uuid,text,text) returns boolean volatility i parallel s
function pgsched_internal.check_no_circle(uuid,uuid) returns boolean volatility v parallel u
function pgsched_internal.check_on_conflict(text,text,boolean) returns boolean volatility i parallel s
function pgsched_internal.check_options(jsonb) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_partition(smallint,text,text,text) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_pause(text,text,text) returns boolean volatility i parallel s
function pgsched_internal.check_payload(jsonb) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_pulled(text,text) returns boolean volatility s parallel s
function pgsched_internal.check_request(text,text,timestamp with time zone,interval,text,interval,text,text,text,jsonb,text,text,text,text[],text,timestamp with time zone) returns void volatility s parallel u
function pgsched_internal.check_result(jsonb,text) returns boolean volatility i parallel s set search_path=pg_catalog, pg_temp
function pgsched_internal.check_retries(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_rules(jsonb) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_said(text,text) returns boolean volatility i parallel s
function pgsched_internal.check_same_server(bigint) returns record volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_setting(text,jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_spec(jsonb) returns boolean volatility i parallel s
function pgsched_internal.check_target(text) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_told(jsonb,text) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.check_until(text,timestamp with time zone) returns boolean volatility s parallel u
function pgsched_internal.check_zone(text) returns boolean volatility s parallel s
function pgsched_internal.circle_refused() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.circuit_of(text,text) returns text volatility i parallel s
function pgsched_internal.client_of(text,jsonb) returns text volatility s parallel u
function pgsched_internal.clients_acted_for() returns text[] volatility s parallel s
function pgsched_internal.count_dead_letters(jsonb,text[],timestamp with time zone) returns record volatility v parallel u set enable_sort=off, enable_hashjoin=off
function pgsched_internal.count_executions(jsonb,text[],timestamp with time zone) returns record volatility v parallel u set enable_sort=off
function pgsched_internal.count_later(text,smallint,pgsched.execution_status,bigint,smallint) returns void volatility v parallel u
function pgsched_internal.count_live(text,bigint,boolean) returns bigint volatility s parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.count_named(text,jsonb,text[],interval) returns record volatility v parallel u
function pgsched_internal.count_outcome(uuid,pgsched.execution_status) returns boolean volatility v parallel u
function pgsched_internal.create_key(text,bytea,text,text[],text[],timestamp with time zone,text,integer,integer) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.crowding(integer,timestamp with time zone[],timestamp with time zone[]) returns SETOF bigint volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.day_column(text) returns text volatility i parallel s
function pgsched_internal.day_table(text,date) returns text volatility i parallel s
function pgsched_internal.days_followed() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.days_of(text) returns TABLE(name text, first_day date, last_day date) volatility s parallel u set search_path=pg_catalog, pg_temp, TimeZone=UTC, DateStyle=ISO, MDY
function pgsched_internal.days_to_archive() returns SETOF date volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.days_to_drop(integer) returns SETOF text volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.days_to_make(integer) returns TABLE(parent text, day date) volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.decide(text,text,boolean,double precision,integer,double precision,jsonb,text,smallint,integer,double precision) returns record volatility v parallel u
function pgsched_internal.decide_failure(pgsched.executions,text,boolean,interval,boolean) returns record volatility v parallel u
function pgsched_internal.default_attempts() returns integer volatility i parallel s
function pgsched_internal.dependents_of(uuid[],uuid,integer) returns record volatility s parallel u
function pgsched_internal.detail_of(text) returns jsonb volatility i parallel s
function pgsched_internal.digits_in(jsonb) returns bigint volatility i parallel s
function pgsched_internal.drop_day(text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.drop_partitions(pgsched.queues) returns void volatility v parallel u
function pgsched_internal.dropped_day_followed() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.dropped_queue_followed() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.due_among(smallint,text,integer,text[],text[],uuid[],timestamp with time zone,integer,bigint) returns record volatility v parallel u
function pgsched_internal.due_in(smallint,integer,text[],text[],uuid[]) returns record volatility v parallel u
function pgsched_internal.due_to_pull(smallint,integer,integer,text[],text[],uuid[]) returns record volatility v parallel u
function pgsched_internal.edit_execution(uuid,jsonb,text,text) returns boolean volatility v parallel u
function pgsched_internal.edit_job(uuid,jsonb,text,text,boolean) returns boolean volatility v parallel u
function pgsched_internal.edited(pgsched.jobs,jsonb) returns pgsched.jobs volatility s parallel u
function pgsched_internal.edited_execution(pgsched.executions,jsonb) returns pgsched.executions volatility s parallel u
function pgsched_internal.end_execution(pgsched.executions,pgsched.execution_status,text,timestamp with time zone,bigint,smallint,jsonb,boolean,boolean,timestamp with time zone,double precision) returns pgsched.execution_status volatility v parallel u
function pgsched_internal.end_if_late(smallint,uuid) returns boolean volatility v parallel u set lock_timeout=5ms
function pgsched_internal.end_in_hand(pgsched.executions,pgsched.execution_status,jsonb,text,boolean,boolean) returns boolean volatility v parallel u
function pgsched_internal.end_overdue(integer) returns bigint volatility v parallel u
function pgsched_internal.ended_under(pgsched_internal.keys,text,text,text,smallint) returns pgsched_internal.placement volatility v parallel u
function pgsched_internal.executions_inserted() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.expire_dead_letters(integer) returns integer volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.fail_in_hand(pgsched.executions,text,boolean,interval,boolean,boolean) returns pgsched.execution_status volatility v parallel u
function pgsched_internal.fault_of_json(jsonb) returns text volatility i parallel s set search_path=pg_catalog, pg_temp
function pgsched_internal.fault_of_values(jsonb) returns record volatility i parallel s
function pgsched_internal.find_execution(text,text) returns uuid volatility v parallel u
function pgsched_internal.fire_dependents(uuid[]) returns uuid[] volatility v parallel u
function pgsched_internal.first_in_history(text,timestamp with time zone,uuid,text,text,timestamp with time zone,boolean) returns pgsched.history volatility v parallel u
function pgsched_internal.first_partition_of(integer) returns smallint volatility i parallel s
function pgsched_internal.follow_change(pgsched.executions,pgsched.jobs) returns void volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.follow_edit(pgsched.jobs,pgsched.jobs,text,boolean,boolean) returns void volatility v parallel u
function pgsched_internal.follow_end(pgsched.executions,pgsched.execution_status,text,smallint,jsonb,boolean) returns void volatility v parallel u
function pgsched_internal.follow_move(pgsched.executions,timestamp with time zone) returns void volatility v parallel u
function pgsched_internal.follow_replaced(pgsched.jobs,pgsched.jobs) returns void volatility v parallel u
function pgsched_internal.follow_unbegun(pgsched.jobs,text) returns void volatility v parallel u
function pgsched_internal.forget_dependencies(uuid) returns void volatility v parallel u
function pgsched_internal.gate_of(text,text) returns text volatility i parallel s
function pgsched_internal.give_key(text,text,uuid,smallint) returns void volatility v parallel u
function pgsched_internal.grant_execute(text[],regrole) returns void volatility v parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.hand_back(pgsched.executions) returns void volatility v parallel u
function pgsched_internal.has_ended(uuid) returns boolean volatility v parallel u
function pgsched_internal.has_keys() returns boolean volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.has_no_such_day(text) returns boolean volatility i parallel s
function pgsched_internal.has_target() returns boolean volatility s parallel u
function pgsched_internal.held(jsonb,text,timestamp with time zone) returns jsonb volatility s parallel s
function pgsched_internal.held_until(pgsched.executions) returns timestamp with time zone volatility s parallel s
function pgsched_internal.histogram_of(smallint[],bigint[]) returns integer[] volatility i parallel s
function pgsched_internal.hold_for(smallint,uuid,jsonb,timestamp with time zone) returns boolean volatility v parallel u
function pgsched_internal.hold_withdrawn(pgsched.executions,text) returns void volatility v parallel u
function pgsched_internal.homes_of(uuid) returns smallint[] volatility s parallel u
function pgsched_internal.in_history(uuid) returns pgsched.history volatility v parallel u
function pgsched_internal.in_partition(smallint,text) returns text volatility s parallel u
function pgsched_internal.insert_waiting(uuid,timestamp with time zone,text,text,jsonb,jsonb,text,text,smallint,jsonb) returns void volatility v parallel u
function pgsched_internal.is_a_lock(text) returns boolean volatility i parallel s
function pgsched_internal.is_ahead(pgsched.executions) returns boolean volatility v parallel u
function pgsched_internal.is_api() returns boolean volatility s parallel s
function pgsched_internal.is_blocked(smallint,text,text,boolean) returns boolean volatility v parallel u
function pgsched_internal.is_current(bigint) returns boolean volatility v parallel u
function pgsched_internal.is_day(text) returns boolean volatility i parallel s
function pgsched_internal.is_duration(jsonb,interval,interval) returns boolean volatility i parallel s
function pgsched_internal.is_elsewhere() returns boolean volatility s parallel u
function pgsched_internal.is_instant(jsonb) returns boolean volatility i parallel s
function pgsched_internal.is_kept(text,timestamp with time zone) returns boolean volatility s parallel u
function pgsched_internal.is_live(pgsched_internal.keys) returns boolean volatility v parallel u
function pgsched_internal.is_living(pgsched.workers) returns boolean volatility s parallel u
function pgsched_internal.is_lost(pgsched.executions) returns boolean volatility v parallel u
function pgsched_internal.is_named(pgsched.executions,jsonb,text[]) returns boolean volatility s parallel u
function pgsched_internal.is_of_a_row(text) returns boolean volatility i parallel s
function pgsched_internal.is_of_key(smallint,uuid,text,text) returns boolean volatility s parallel u
function pgsched_internal.is_only_form(text) returns boolean volatility i parallel s set search_path=pg_catalog, pg_temp
function pgsched_internal.is_privileged(name) returns boolean volatility s parallel u
function pgsched_internal.is_secret_ref(jsonb) returns boolean volatility i parallel s security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.is_watched(integer) returns boolean volatility v parallel u
function pgsched_internal.is_whole(jsonb,bigint,bigint) returns boolean volatility i parallel s
function pgsched_internal.job_checked() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.job_keys_inserted() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.job_named(text,text) returns uuid volatility v parallel u
function pgsched_internal.job_under(text,text,text) returns uuid volatility v parallel u
function pgsched_internal.jobs_named(text,jsonb,text[]) returns TABLE(id uuid, state pgsched.job_state) volatility s parallel u
function pgsched_internal.keep_dead_letters(integer,integer) returns integer volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.kept_under(text,text,text) returns pgsched_internal.placement volatility v parallel u
function pgsched_internal.key_retention() returns interval volatility s parallel s
function pgsched_internal.keys_inserted() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.laid_over(jsonb,jsonb) returns jsonb volatility i parallel s
function pgsched_internal.last_replay(uuid) returns uuid volatility v parallel u
function pgsched_internal.last_under(text,text) returns uuid volatility v parallel u
function pgsched_internal.lateness(jsonb,integer,double precision) returns record volatility i parallel s
function pgsched_internal.lease_in(pgsched_internal.consumer,smallint,uuid[]) returns pgsched_internal.handed[] volatility v parallel u
function pgsched_internal.lease_to(pgsched_internal.consumer,smallint[],uuid[]) returns record volatility v parallel u set lock_timeout=5ms
function pgsched_internal.leave_watch(integer,integer) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp, synchronous_commit=off
function pgsched_internal.left_as_it_is(pgsched_internal.keys,pgsched.executions,text) returns pgsched_internal.placement volatility v parallel u
function pgsched_internal.length_of(text) returns interval volatility i parallel s
function pgsched_internal.let_next(smallint,text,text,boolean) returns timestamp with time zone volatility v parallel u
function pgsched_internal.live_execution(smallint,uuid) returns pgsched.executions volatility v parallel u
function pgsched_internal.lock_dead_letter(uuid,boolean) returns pgsched.history volatility v parallel u
function pgsched_internal.lock_editable(uuid,jsonb) returns pgsched.executions volatility v parallel u
function pgsched_internal.lock_execution(uuid) returns pgsched.executions volatility v parallel u
function pgsched_internal.lock_job(uuid) returns pgsched.jobs volatility v parallel u
function pgsched_internal.lock_key(text,text,uuid,smallint) returns pgsched_internal.keys volatility v parallel u
function pgsched_internal.lock_key_of_api(text) returns pgsched_internal.api_keys volatility v parallel u
function pgsched_internal.lock_live(smallint,uuid) returns pgsched.executions volatility v parallel u
function pgsched_internal.lock_named(text,text,boolean) returns uuid volatility v parallel u
function pgsched_internal.lock_queue(text) returns pgsched.queues volatility v parallel u
function pgsched_internal.lock_waiting(smallint,uuid) returns pgsched.executions volatility v parallel u
function pgsched_internal.log_change(text,text,uuid,jsonb,jsonb,text) returns void volatility v parallel u
function pgsched_internal.look_through_dead_letters(jsonb,text[],uuid,timestamp with time zone,integer) returns TABLE(id uuid, finished_at timestamp with time zone, named boolean) volatility s parallel u
function pgsched_internal.look_up_keys(text[]) returns TABLE(id text, hash bytea, former_hash bytea, former_left double precision, subject text, clients text[], scopes text[], expires_in double precision, revoked boolean, rate integer, burst integer) volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.lose_in_hand(pgsched.executions) returns boolean volatility v parallel u
function pgsched_internal.make_day(text,date) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp, lock_timeout=50ms
function pgsched_internal.make_partition(integer,boolean) returns void volatility v parallel u
function pgsched_internal.mark_archived(date,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.mark_awaited(uuid,uuid,text) returns boolean volatility v parallel u
function pgsched_internal.mark_dead_letter(pgsched.history,uuid,text) returns void volatility v parallel u
function pgsched_internal.mark_ends(integer) returns void volatility v parallel u
function pgsched_internal.may_adopt(text,date,date) returns boolean volatility s parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.may_be_handed_out(smallint,uuid) returns boolean volatility v parallel u
function pgsched_internal.may_do_everything() returns boolean volatility s parallel s
function pgsched_internal.may_go(date) returns boolean volatility s parallel u
function pgsched_internal.may_see(text) returns boolean volatility s parallel u
function pgsched_internal.may_still_run(pgsched.executions,pgsched.jobs,boolean) returns boolean volatility s parallel s
function pgsched_internal.move_to(pgsched.executions,timestamp with time zone) returns void volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.moves_instants(pgsched.jobs,pgsched.jobs) returns boolean volatility s parallel s
function pgsched_internal.my_clients() returns text[] volatility s parallel s
function pgsched_internal.new_id() returns uuid volatility v parallel s
function pgsched_internal.new_id_in(smallint) returns uuid volatility v parallel s
function pgsched_internal.new_token(smallint) returns bigint volatility v parallel s
function pgsched_internal.next_of_many(pgsched.bulk_operations) returns text volatility s parallel u
function pgsched_internal.next_partition(jsonb,smallint) returns smallint volatility s parallel u
function pgsched_internal.next_queue_number() returns integer volatility v parallel u
function pgsched_internal.not_empty(smallint[],text[]) returns smallint[] volatility v parallel u
function pgsched_internal.not_found_at_once(uuid[]) returns uuid[] volatility v parallel u
function pgsched_internal.note_ends(uuid[],pgsched.execution_status[],timestamp with time zone[],text[],uuid[]) returns integer volatility v parallel u
function pgsched_internal.note_ends_with(uuid[],pgsched.execution_status[],timestamp with time zone[],text[],uuid[]) returns integer volatility v parallel u
function pgsched_internal.note_key_use(text) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.note_move(pgsched.jobs) returns void volatility v parallel u
function pgsched_internal.note_result(text,pgsched.executions,bigint,jsonb,text,boolean,interval) returns void volatility v parallel u
function pgsched_internal.note_server(pgsched_internal.fleet,bigint) returns bigint volatility v parallel u
function pgsched_internal.notify_unless_silent(text) returns void volatility v parallel u
function pgsched_internal.notify_wake(smallint,timestamp with time zone) returns void volatility v parallel u
function pgsched_internal.notify_workers(text) returns void volatility v parallel u
function pgsched_internal.numbers_in(jsonb) returns SETOF jsonb volatility i parallel s
function pgsched_internal.open_gate(text,boolean) returns boolean volatility v parallel u
function pgsched_internal.options_of(jsonb,text,smallint,integer) returns jsonb volatility s parallel s
function pgsched_internal.owner_of_job(uuid) returns text volatility s parallel u
function pgsched_internal.partition_in(uuid) returns smallint volatility i parallel s
function pgsched_internal.partition_of(pgsched.jobs) returns smallint volatility s parallel s
function pgsched_internal.partition_with(uuid) returns smallint volatility v parallel u
function pgsched_internal.partitions_of(integer) returns SETOF smallint volatility i parallel s
function pgsched_internal.partitions_per_queue() returns integer volatility i parallel s
function pgsched_internal.pause_job(uuid,text) returns boolean volatility v parallel u
function pgsched_internal.put_away(smallint,uuid,text) returns void volatility v parallel u
function pgsched_internal.put_job(uuid,text,jsonb,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text,text) returns pgsched.jobs volatility v parallel u
function pgsched_internal.put_secret(text,text,bytea,text[],text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.quantile(integer[],double precision) returns double precision volatility i parallel s
function pgsched_internal.queue_followed() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.queue_number_of(integer) returns integer volatility i parallel s
function pgsched_internal.queue_to_tell(smallint,text) returns smallint volatility s parallel s
function pgsched_internal.reap_in_hand(smallint,integer,timestamp with time zone) returns integer volatility v parallel u
function pgsched_internal.recall(smallint,uuid,bigint) returns text volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.record_in_hand(pgsched.executions,pgsched_internal.results_to_record) returns boolean volatility v parallel u
function pgsched_internal.record_result(pgsched_internal.results_to_record) returns boolean volatility v parallel u
function pgsched_internal.record_results(integer) returns integer volatility v parallel u
function pgsched_internal.refuse(text,text,text) returns boolean volatility v parallel s set search_path=pg_catalog, pg_temp
function pgsched_internal.refuse_declared(pgsched.jobs,text) returns void volatility v parallel u
function pgsched_internal.refuse_full(integer) returns void volatility s parallel u
function pgsched_internal.refuse_taken(pgsched_internal.keys,text) returns void volatility v parallel u
function pgsched_internal.release_abandoned(integer,uuid) returns record volatility v parallel u
function pgsched_internal.release_dependents(integer,uuid,uuid,integer) returns record volatility v parallel u
function pgsched_internal.replace_waiting(pgsched.executions,text,jsonb,timestamp with time zone,jsonb,jsonb) returns void volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.replan_from(pgsched.executions,pgsched.jobs) returns void volatility v parallel u
function pgsched_internal.reseal(text,text,bytea,bytea) returns boolean volatility v parallel u
function pgsched_internal.restore_target(text,text,text) returns boolean volatility v parallel u
function pgsched_internal.resume_job(uuid) returns boolean volatility v parallel u
function pgsched_internal.revive(pgsched.history,timestamp with time zone,text,jsonb,jsonb,text) returns uuid volatility v parallel u
function pgsched_internal.revoke_key(text,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.roll_up(jsonb) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.roll_up_notes(integer) returns integer volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.rollup_days() returns integer volatility i parallel s
function pgsched_internal.rotate_key(text,bytea,interval,text) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.rotate_signing_secret(text,bytea,text,interval,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.rows_of_job(uuid,text,integer,timestamp with time zone,timestamp with time zone) returns SETOF pgsched.executions volatility v parallel u
function pgsched_internal.schedule_after(text,jsonb,timestamp with time zone,text,text,text,text,jsonb,text,text[],text,jsonb) returns pgsched_internal.placement volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.schedule_job(text,jsonb,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text,text) returns pgsched_internal.placement volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.schedule_keyed(text,jsonb,timestamp with time zone,text,text,text,text,jsonb,text,jsonb) returns pgsched_internal.placement volatility v parallel u
function pgsched_internal.schedule_plain(text,jsonb,timestamp with time zone,text,text,text,jsonb,jsonb) returns pgsched_internal.placement volatility v parallel u
function pgsched_internal.schedule_together(text,jsonb) returns SETOF record volatility v parallel u set search_path=pg_catalog, pg_temp, lock_timeout=50ms
function pgsched_internal.schedule_under(pgsched_internal.keys,uuid,smallint,text,jsonb,timestamp with time zone,text,text,text,jsonb,text,jsonb) returns pgsched_internal.placement volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.sealed_with() returns TABLE(head bytea, secrets bigint) volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.seconds_in(jsonb,text) returns double precision volatility i parallel s
function pgsched_internal.seconds_since(integer) returns double precision volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.set_aside(smallint,uuid,text,boolean) returns void volatility v parallel u
function pgsched_internal.set_client_paused(boolean,text,text) returns boolean volatility v parallel u
function pgsched_internal.set_installation_paused(boolean,text) returns boolean volatility v parallel u
function pgsched_internal.set_key_rate(text,integer,integer,text) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.set_paused(boolean,text,text,text,timestamp with time zone,text,text) returns boolean volatility v parallel u
function pgsched_internal.set_queue_paused(boolean,text,text) returns boolean volatility v parallel u
function pgsched_internal.set_worker_paused(boolean,text,text) returns boolean volatility v parallel u
function pgsched_internal.setting(text,text) returns text volatility s parallel s
function pgsched_internal.settle_called(smallint,uuid,bigint,jsonb) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.shown(text,jsonb) returns jsonb volatility i parallel s
function pgsched_internal.shut_gate(text,timestamp with time zone,text) returns boolean volatility v parallel u
function pgsched_internal.skip_dependents(uuid[]) returns uuid[] volatility v parallel u
function pgsched_internal.skip_range(pgsched.jobs,timestamp with time zone,timestamp with time zone,bigint,text) returns void volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.slot_for(text,text,text) returns smallint volatility i parallel s
function pgsched_internal.spread_overdue(smallint,timestamp with time zone,timestamp with time zone,interval,integer) returns integer volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.stalls() returns jsonb volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.status_by_id(uuid) returns SETOF pgsched.status volatility v parallel u set enable_seqscan=off
function pgsched_internal.still_in_hand(smallint,uuid,bigint) returns pgsched.executions volatility v parallel u
function pgsched_internal.still_to_wait_for(pgsched.history) returns jsonb volatility v parallel u
function pgsched_internal.stray_days(text) returns record volatility s parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.succeeded_lately(text,text,uuid) returns uuid volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.sum_of(integer[],integer[]) returns integer[] volatility i parallel s
function pgsched_internal.superseded_by(pgsched.history) returns uuid volatility v parallel u
function pgsched_internal.swap_default(text,text,date,date) returns void volatility v parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.take_back(pgsched.executions) returns pgsched.executions volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.take_in_hand(uuid,bigint) returns record volatility v parallel u
function pgsched_internal.take_key(text,text,uuid,smallint) returns void volatility v parallel u
function pgsched_internal.take_out(uuid,timestamp with time zone,text) returns void volatility v parallel u
function pgsched_internal.take_turn(pgsched.executions) returns boolean volatility v parallel u
function pgsched_internal.take_watch(integer,integer) returns boolean volatility v parallel u security definer set search_path=pg_catalog, pg_temp, synchronous_commit=off
function pgsched_internal.target_host(text) returns text volatility i parallel s
function pgsched_internal.tell_of_change(uuid) returns void volatility v parallel u
function pgsched_internal.tell_outcome(pgsched.executions,pgsched.execution_status,text,smallint,jsonb) returns uuid volatility v parallel u
function pgsched_internal.that_fit(smallint[],uuid[],boolean[],integer) returns record volatility v parallel u
function pgsched_internal.this_server() returns pgsched_internal.fleet volatility v parallel u
function pgsched_internal.tidy_keys(integer) returns integer volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.trim_default_days(integer,integer) returns integer volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.try_gates(text[]) returns text[] volatility v parallel u set lock_timeout=50ms
function pgsched_internal.try_lock(text) returns boolean volatility v parallel u
function pgsched_internal.try_orderings(smallint[]) returns smallint[] volatility v parallel u set lock_timeout=50ms
function pgsched_internal.unblock(boolean,text,text) returns uuid volatility v parallel u
function pgsched_internal.unblock_after(uuid[]) returns void volatility v parallel u
function pgsched_internal.unbound_strays(text,text) returns void volatility v parallel u set search_path=pg_catalog, pg_temp
function pgsched_internal.until_next(text) returns double precision volatility v parallel u set enable_seqscan=off, enable_bitmapscan=off
function pgsched_internal.wait_for(uuid,uuid,text,interval) returns boolean volatility v parallel u set plan_cache_mode=force_custom_plan
function pgsched_internal.wait_for_row(pgsched.executions) returns boolean volatility v parallel u set lock_timeout=50ms
function pgsched_internal.waited(jsonb) returns jsonb volatility s parallel s
function pgsched_internal.waits_for_own(smallint,uuid) returns boolean volatility s parallel u
function pgsched_internal.was_dependent(pgsched.history) returns boolean volatility i parallel s
function pgsched_internal.watch_of(integer) returns bigint volatility v parallel u
function pgsched_internal.weeks_of_history(timestamp with time zone) returns TABLE(low timestamp with time zone, high timestamp with time zone) volatility s parallel u
function pgsched_internal.why_hold(pgsched_internal.fleet,pgsched_internal.fleet,pgsched.installation,boolean,boolean,bigint) returns text volatility i parallel u
function pgsched_internal.with_defaults(jsonb,jsonb) returns jsonb volatility i parallel s
function pgsched_internal.withdraw(uuid,text,boolean) returns void volatility v parallel u
function pgsched_internal.worker_left() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.workers_told() returns trigger volatility v parallel u security definer set search_path=pg_catalog, pg_temp
function pgsched_internal.write_end(pgsched.executions,pgsched.execution_status,jsonb,text,boolean) returns void volatility v parallel u
function pgsched_internal.write_log(text,uuid,text,jsonb,text,text,jsonb,jsonb,text) returns void volatility v parallel u
function pgsched_internal.written_out(jsonb,integer) returns text volatility i parallel s

-- grants
grant delete, insert, select, update on pgsched.audit_log to pgsched_worker
grant delete, insert, select, update on pgsched.blocked_keys to pgsched_worker
grant delete, insert, select, update on pgsched.dependencies to pgsched_worker
grant delete, insert, select, update on pgsched.executions to pgsched_worker
grant delete, insert, select, update on pgsched.jobs to pgsched_worker
grant delete, insert, select, update on pgsched.progress to pgsched_worker
grant delete, insert, select, update on pgsched.workers to pgsched_worker
grant delete, insert, select, update on pgsched_internal.ends_to_mark to pgsched_worker
grant delete, insert, select, update on pgsched_internal.facts to pgsched_worker
grant delete, insert, select, update on pgsched_internal.gate_use to pgsched_worker
grant delete, insert, select, update on pgsched_internal.gates to pgsched_worker
grant delete, insert, select, update on pgsched_internal.job_moves to pgsched_worker
grant delete, insert, select, update on pgsched_internal.keys to pgsched_worker
grant delete, insert, select, update on pgsched_internal.results_to_record to pgsched_worker
grant delete, insert, select, update on pgsched_internal.rows_to_come_back_to to pgsched_worker
grant execute on pgsched.bulk(text,jsonb,double precision,text,timestamp with time zone,interval,boolean,interval,text,text) to pgsched_api
grant execute on pgsched.bulk(text,jsonb,double precision,text,timestamp with time zone,interval,boolean,interval,text,text) to pgsched_client
grant execute on pgsched.bulk(text,jsonb,double precision,text,timestamp with time zone,interval,boolean,interval,text,text) to pgsched_worker
grant execute on pgsched.cancel(uuid,text,text,text,text) to pgsched_api
grant execute on pgsched.cancel(uuid,text,text,text,text) to pgsched_client
grant execute on pgsched.cancel(uuid,text,text,text,text) to pgsched_worker
grant execute on pgsched.claim(text,text,integer,interval) to pgsched_api
grant execute on pgsched.claim(text,text,integer,interval) to pgsched_client
grant execute on pgsched.claim(text,text,integer,interval) to pgsched_worker
grant execute on pgsched.complete(uuid,bigint,jsonb) to pgsched_api
grant execute on pgsched.complete(uuid,bigint,jsonb) to pgsched_client
grant execute on pgsched.complete(uuid,bigint,jsonb) to pgsched_worker
grant execute on pgsched.create_queue(text,jsonb,text) to pgsched_api
grant execute on pgsched.create_queue(text,jsonb,text) to pgsched_worker
grant execute on pgsched.discard(uuid,text,text) to pgsched_api
grant execute on pgsched.discard(uuid,text,text) to pgsched_client
grant execute on pgsched.discard(uuid,text,text) to pgsched_worker
grant execute on pgsched.drop_client(text,text) to pgsched_api
grant execute on pgsched.drop_client(text,text) to pgsched_worker
grant execute on pgsched.drop_limit(text,text,text) to pgsched_api
grant execute on pgsched.drop_limit(text,text,text) to pgsched_worker
grant execute on pgsched.drop_queue(text,text) to pgsched_api
grant execute on pgsched.drop_queue(text,text) to pgsched_worker
grant execute on pgsched.drop_secret(text,text,text) to pgsched_api
grant execute on pgsched.drop_secret(text,text,text) to pgsched_worker
grant execute on pgsched.drop_signing_secret(text,text) to pgsched_api
grant execute on pgsched.drop_signing_secret(text,text) to pgsched_worker
grant execute on pgsched.edit(uuid,jsonb,text,text,text,text,boolean) to pgsched_api
grant execute on pgsched.edit(uuid,jsonb,text,text,text,text,boolean) to pgsched_client
grant execute on pgsched.edit(uuid,jsonb,text,text,text,text,boolean) to pgsched_worker
grant execute on pgsched.extend(uuid,bigint,interval) to pgsched_api
grant execute on pgsched.extend(uuid,bigint,interval) to pgsched_client
grant execute on pgsched.extend(uuid,bigint,interval) to pgsched_worker
grant execute on pgsched.fail(uuid,bigint,text,boolean,interval) to pgsched_api
grant execute on pgsched.fail(uuid,bigint,text,boolean,interval) to pgsched_client
grant execute on pgsched.fail(uuid,bigint,text,boolean,interval) to pgsched_worker
grant execute on pgsched.now() to pgsched_api
grant execute on pgsched.now() to pgsched_client
grant execute on pgsched.now() to pgsched_reader
grant execute on pgsched.now() to pgsched_worker
grant execute on pgsched.partition_for(text,text,text,text) to pgsched_api
grant execute on pgsched.partition_for(text,text,text,text) to pgsched_client
grant execute on pgsched.partition_for(text,text,text,text) to pgsched_worker
grant execute on pgsched.pause(text,text,text,timestamp with time zone,text,text) to pgsched_api
grant execute on pgsched.pause(text,text,text,timestamp with time zone,text,text) to pgsched_client
grant execute on pgsched.pause(text,text,text,timestamp with time zone,text,text) to pgsched_worker
grant execute on pgsched.release(uuid,bigint) to pgsched_api
grant execute on pgsched.release(uuid,bigint) to pgsched_client
grant execute on pgsched.release(uuid,bigint) to pgsched_worker
grant execute on pgsched.replay(uuid,text,jsonb,jsonb,text,text) to pgsched_api
grant execute on pgsched.replay(uuid,text,jsonb,jsonb,text,text) to pgsched_client
grant execute on pgsched.replay(uuid,text,jsonb,jsonb,text,text) to pgsched_worker
grant execute on pgsched.resume(text,text,text,text,text) to pgsched_api
grant execute on pgsched.resume(text,text,text,text,text) to pgsched_client
grant execute on pgsched.resume(text,text,text,text,text) to pgsched_worker
grant execute on pgsched.schedule(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) to pgsched_api
grant execute on pgsched.schedule(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) to pgsched_client
grant execute on pgsched.schedule(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) to pgsched_worker
grant execute on pgsched.schedule_outcome(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) to pgsched_api
grant execute on pgsched.schedule_outcome(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) to pgsched_client
grant execute on pgsched.schedule_outcome(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) to pgsched_worker
grant execute on pgsched.secrets(text) to pgsched_api
grant execute on pgsched.secrets(text) to pgsched_client
grant execute on pgsched.secrets(text) to pgsched_reader
grant execute on pgsched.secrets(text) to pgsched_worker
grant execute on pgsched.set_client(text,jsonb,text) to pgsched_api
grant execute on pgsched.set_client(text,jsonb,text) to pgsched_worker
grant execute on pgsched.set_installation(jsonb,text) to pgsched_worker
grant execute on pgsched.set_limit(text,text,integer,interval,integer,integer,text) to pgsched_api
grant execute on pgsched.set_limit(text,text,integer,interval,integer,integer,text) to pgsched_worker
grant execute on pgsched.set_queue(text,jsonb,text) to pgsched_api
grant execute on pgsched.set_queue(text,jsonb,text) to pgsched_worker
grant execute on pgsched.signing_secrets(text) to pgsched_api
grant execute on pgsched.signing_secrets(text) to pgsched_client
grant execute on pgsched.signing_secrets(text) to pgsched_reader
grant execute on pgsched.signing_secrets(text) to pgsched_worker
grant execute on pgsched.status_of(uuid,text,text) to pgsched_api
grant execute on pgsched.status_of(uuid,text,text) to pgsched_client
grant execute on pgsched.status_of(uuid,text,text) to pgsched_reader
grant execute on pgsched.status_of(uuid,text,text) to pgsched_worker
grant execute on pgsched.stop_bulk(uuid,text) to pgsched_api
grant execute on pgsched.stop_bulk(uuid,text) to pgsched_client
grant execute on pgsched.stop_bulk(uuid,text) to pgsched_worker
grant execute on pgsched.trigger(uuid,text) to pgsched_api
grant execute on pgsched.trigger(uuid,text) to pgsched_client
grant execute on pgsched.trigger(uuid,text) to pgsched_worker
grant execute on pgsched_internal.account_from_claimed(uuid,integer,uuid[]) to pgsched_api
grant execute on pgsched_internal.account_from_claimed(uuid,integer,uuid[]) to pgsched_worker
grant execute on pgsched_internal.accounted_to(pgsched.jobs,boolean) to pgsched_api
grant execute on pgsched_internal.accounted_to(pgsched.jobs,boolean) to pgsched_worker
grant execute on pgsched_internal.acting_role() to pgsched_api
grant execute on pgsched_internal.acting_role() to pgsched_worker
grant execute on pgsched_internal.acts_for(text) to pgsched_api
grant execute on pgsched_internal.acts_for(text) to pgsched_worker
grant execute on pgsched_internal.add_to_rollups(pgsched.rollups[]) to pgsched_api
grant execute on pgsched_internal.add_to_rollups(pgsched.rollups[]) to pgsched_worker
grant execute on pgsched_internal.adopt_strays(text) to pgsched_worker
grant execute on pgsched_internal.advance_bulk(uuid,integer) to pgsched_api
grant execute on pgsched_internal.advance_bulk(uuid,integer) to pgsched_worker
grant execute on pgsched_internal.advance_sequences() to pgsched_api
grant execute on pgsched_internal.advance_sequences() to pgsched_worker
grant execute on pgsched_internal.any_partition_of(integer) to pgsched_api
grant execute on pgsched_internal.any_partition_of(integer) to pgsched_worker
grant execute on pgsched_internal.api_acts_for_all() to pgsched_api
grant execute on pgsched_internal.api_acts_for_all() to pgsched_worker
grant execute on pgsched_internal.api_administers() to pgsched_api
grant execute on pgsched_internal.api_administers() to pgsched_worker
grant execute on pgsched_internal.api_clients() to pgsched_api
grant execute on pgsched_internal.api_clients() to pgsched_worker
grant execute on pgsched_internal.attach_day(text,date) to pgsched_worker
grant execute on pgsched_internal.attach_if_free(text,date) to pgsched_api
grant execute on pgsched_internal.attach_if_free(text,date) to pgsched_worker
grant execute on pgsched_internal.attempts_in(jsonb) to pgsched_api
grant execute on pgsched_internal.attempts_in(jsonb) to pgsched_worker
grant execute on pgsched_internal.authenticated() to pgsched_api
grant execute on pgsched_internal.authenticated() to pgsched_worker
grant execute on pgsched_internal.backoff(jsonb,integer,double precision) to pgsched_api
grant execute on pgsched_internal.backoff(jsonb,integer,double precision) to pgsched_worker
grant execute on pgsched_internal.block_key(smallint,text,text,uuid,text) to pgsched_api
grant execute on pgsched_internal.block_key(smallint,text,text,uuid,text) to pgsched_worker
grant execute on pgsched_internal.block_while_called(pgsched.executions) to pgsched_api
grant execute on pgsched_internal.block_while_called(pgsched.executions) to pgsched_worker
grant execute on pgsched_internal.bound_strays(text,text,date,date) to pgsched_api
grant execute on pgsched_internal.bound_strays(text,text,date,date) to pgsched_worker
grant execute on pgsched_internal.bring_along(uuid) to pgsched_api
grant execute on pgsched_internal.bring_along(uuid) to pgsched_worker
grant execute on pgsched_internal.buckets() to pgsched_api
grant execute on pgsched_internal.buckets() to pgsched_client
grant execute on pgsched_internal.buckets() to pgsched_reader
grant execute on pgsched_internal.buckets() to pgsched_worker
grant execute on pgsched_internal.bury(smallint,uuid,text) to pgsched_api
grant execute on pgsched_internal.bury(smallint,uuid,text) to pgsched_worker
grant execute on pgsched_internal.call_target(text,text,jsonb,text,integer,timestamp with time zone,smallint,uuid,bigint) to pgsched_api
grant execute on pgsched_internal.call_target(text,text,jsonb,text,integer,timestamp with time zone,smallint,uuid,bigint) to pgsched_client
grant execute on pgsched_internal.call_target(text,text,jsonb,text,integer,timestamp with time zone,smallint,uuid,bigint) to pgsched_worker
grant execute on pgsched_internal.cancel_backfilled(pgsched.bulk_operations) to pgsched_api
grant execute on pgsched_internal.cancel_backfilled(pgsched.bulk_operations) to pgsched_worker
grant execute on pgsched_internal.cancel_locked(pgsched.executions,text,text) to pgsched_api
grant execute on pgsched_internal.cancel_locked(pgsched.executions,text,text) to pgsched_worker
grant execute on pgsched_internal.canonical_host(text) to pgsched_api
grant execute on pgsched_internal.canonical_host(text) to pgsched_client
grant execute on pgsched_internal.canonical_host(text) to pgsched_reader
grant execute on pgsched_internal.canonical_host(text) to pgsched_worker
grant execute on pgsched_internal.capability_of(text) to pgsched_api
grant execute on pgsched_internal.capability_of(text) to pgsched_worker
grant execute on pgsched_internal.carry_on(uuid,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.carry_on(uuid,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.catalogue() to pgsched_api
grant execute on pgsched_internal.catalogue() to pgsched_reader
grant execute on pgsched_internal.catalogue() to pgsched_worker
grant execute on pgsched_internal.change_chunk(pgsched.bulk_operations,integer,integer) to pgsched_api
grant execute on pgsched_internal.change_chunk(pgsched.bulk_operations,integer,integer) to pgsched_worker
grant execute on pgsched_internal.change_execution(pgsched.bulk_operations,uuid,smallint) to pgsched_worker
grant execute on pgsched_internal.change_jobs(text,jsonb,text[],text,text) to pgsched_api
grant execute on pgsched_internal.change_jobs(text,jsonb,text[],text,text) to pgsched_worker
grant execute on pgsched_internal.change_letter(pgsched.bulk_operations,uuid,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.change_letter(pgsched.bulk_operations,uuid,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.change_or_come_back(pgsched.bulk_operations,uuid,timestamp with time zone,smallint,boolean) to pgsched_api
grant execute on pgsched_internal.change_or_come_back(pgsched.bulk_operations,uuid,timestamp with time zone,smallint,boolean) to pgsched_worker
grant execute on pgsched_internal.check_acts_for(text) to pgsched_api
grant execute on pgsched_internal.check_acts_for(text) to pgsched_worker
grant execute on pgsched_internal.check_administers() to pgsched_api
grant execute on pgsched_internal.check_administers() to pgsched_worker
grant execute on pgsched_internal.check_after(text[],text,text,text) to pgsched_api
grant execute on pgsched_internal.check_after(text[],text,text,text) to pgsched_worker
grant execute on pgsched_internal.check_after_rule(jsonb) to pgsched_api
grant execute on pgsched_internal.check_after_rule(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_auth(jsonb) to pgsched_api
grant execute on pgsched_internal.check_auth(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_backfill(jsonb,boolean) to pgsched_api
grant execute on pgsched_internal.check_backfill(jsonb,boolean) to pgsched_worker
grant execute on pgsched_internal.check_backoff(jsonb) to pgsched_api
grant execute on pgsched_internal.check_backoff(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_body(jsonb,jsonb) to pgsched_api
grant execute on pgsched_internal.check_body(jsonb,jsonb) to pgsched_worker
grant execute on pgsched_internal.check_body_option(jsonb) to pgsched_api
grant execute on pgsched_internal.check_body_option(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_bulk(text,jsonb,double precision,text,timestamp with time zone,interval) to pgsched_api
grant execute on pgsched_internal.check_bulk(text,jsonb,double precision,text,timestamp with time zone,interval) to pgsched_worker
grant execute on pgsched_internal.check_bulk_filter(text,jsonb) to pgsched_api
grant execute on pgsched_internal.check_bulk_filter(text,jsonb) to pgsched_worker
grant execute on pgsched_internal.check_changes(jsonb) to pgsched_api
grant execute on pgsched_internal.check_changes(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_channels(jsonb) to pgsched_api
grant execute on pgsched_internal.check_channels(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_claim(text,text,integer,interval) to pgsched_api
grant execute on pgsched_internal.check_claim(text,text,integer,interval) to pgsched_worker
grant execute on pgsched_internal.check_client_changes(jsonb) to pgsched_api
grant execute on pgsched_internal.check_client_changes(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_cron(text) to pgsched_api
grant execute on pgsched_internal.check_cron(text) to pgsched_client
grant execute on pgsched_internal.check_cron(text) to pgsched_worker
grant execute on pgsched_internal.check_defaults(jsonb) to pgsched_api
grant execute on pgsched_internal.check_defaults(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_delivery(jsonb) to pgsched_api
grant execute on pgsched_internal.check_delivery(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_ended(uuid,text) to pgsched_api
grant execute on pgsched_internal.check_ended(uuid,text) to pgsched_worker
grant execute on pgsched_internal.check_exclusion(jsonb) to pgsched_api
grant execute on pgsched_internal.check_exclusion(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_execution_changes(jsonb) to pgsched_api
grant execute on pgsched_internal.check_execution_changes(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_filter_members(jsonb,text,text[]) to pgsched_api
grant execute on pgsched_internal.check_filter_members(jsonb,text,text[]) to pgsched_worker
grant execute on pgsched_internal.check_headers(jsonb) to pgsched_api
grant execute on pgsched_internal.check_headers(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_instant(timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.check_instant(timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.check_key(text,text[],text[],timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.check_key(text,text[],text[],timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.check_key_rate(integer,integer) to pgsched_api
grant execute on pgsched_internal.check_key_rate(integer,integer) to pgsched_worker
grant execute on pgsched_internal.check_labels(jsonb) to pgsched_api
grant execute on pgsched_internal.check_labels(jsonb) to pgsched_client
grant execute on pgsched_internal.check_labels(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_lease(interval) to pgsched_api
grant execute on pgsched_internal.check_lease(interval) to pgsched_worker
grant execute on pgsched_internal.check_length(jsonb,text,integer) to pgsched_api
grant execute on pgsched_internal.check_length(jsonb,text,integer) to pgsched_worker
grant execute on pgsched_internal.check_limit(integer,interval,integer,integer) to pgsched_api
grant execute on pgsched_internal.check_limit(integer,interval,integer,integer) to pgsched_worker
grant execute on pgsched_internal.check_lists(jsonb) to pgsched_api
grant execute on pgsched_internal.check_lists(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_may_pause(text,text,text) to pgsched_api
grant execute on pgsched_internal.check_may_pause(text,text,text) to pgsched_worker
grant execute on pgsched_internal.check_may_set(text) to pgsched_api
grant execute on pgsched_internal.check_may_set(text) to pgsched_worker
grant execute on pgsched_internal.check_may_sideline(text) to pgsched_api
grant execute on pgsched_internal.check_may_sideline(text) to pgsched_worker
grant execute on pgsched_internal.check_members(jsonb,text[]) to pgsched_api
grant execute on pgsched_internal.check_members(jsonb,text[]) to pgsched_worker
grant execute on pgsched_internal.check_named(uuid,text,text) to pgsched_api
grant execute on pgsched_internal.check_named(uuid,text,text) to pgsched_worker
grant execute on pgsched_internal.check_no_circle(uuid,uuid) to pgsched_api
grant execute on pgsched_internal.check_no_circle(uuid,uuid) to pgsched_worker
grant execute on pgsched_internal.check_on_conflict(text,text,boolean) to pgsched_api
grant execute on pgsched_internal.check_on_conflict(text,text,boolean) to pgsched_worker
grant execute on pgsched_internal.check_options(jsonb) to pgsched_api
grant execute on pgsched_internal.check_options(jsonb) to pgsched_client
grant execute on pgsched_internal.check_options(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_partition(smallint,text,text,text) to pgsched_api
grant execute on pgsched_internal.check_partition(smallint,text,text,text) to pgsched_client
grant execute on pgsched_internal.check_partition(smallint,text,text,text) to pgsched_worker
grant execute on pgsched_internal.check_pause(text,text,text) to pgsched_api
grant execute on pgsched_internal.check_pause(text,text,text) to pgsched_worker
grant execute on pgsched_internal.check_payload(jsonb) to pgsched_api
grant execute on pgsched_internal.check_payload(jsonb) to pgsched_client
grant execute on pgsched_internal.check_payload(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_pulled(text,text) to pgsched_api
grant execute on pgsched_internal.check_pulled(text,text) to pgsched_worker
grant execute on pgsched_internal.check_request(text,text,timestamp with time zone,interval,text,interval,text,text,text,jsonb,text,text,text,text[],text,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.check_request(text,text,timestamp with time zone,interval,text,interval,text,text,text,jsonb,text,text,text,text[],text,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.check_result(jsonb,text) to pgsched_api
grant execute on pgsched_internal.check_result(jsonb,text) to pgsched_worker
grant execute on pgsched_internal.check_retries(jsonb) to pgsched_api
grant execute on pgsched_internal.check_retries(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_rules(jsonb) to pgsched_api
grant execute on pgsched_internal.check_rules(jsonb) to pgsched_client
grant execute on pgsched_internal.check_rules(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_said(text,text) to pgsched_api
grant execute on pgsched_internal.check_said(text,text) to pgsched_worker
grant execute on pgsched_internal.check_same_server(bigint) to pgsched_worker
grant execute on pgsched_internal.check_setting(text,jsonb) to pgsched_api
grant execute on pgsched_internal.check_setting(text,jsonb) to pgsched_worker
grant execute on pgsched_internal.check_spec(jsonb) to pgsched_api
grant execute on pgsched_internal.check_spec(jsonb) to pgsched_worker
grant execute on pgsched_internal.check_target(text) to pgsched_api
grant execute on pgsched_internal.check_target(text) to pgsched_client
grant execute on pgsched_internal.check_target(text) to pgsched_worker
grant execute on pgsched_internal.check_told(jsonb,text) to pgsched_api
grant execute on pgsched_internal.check_told(jsonb,text) to pgsched_worker
grant execute on pgsched_internal.check_until(text,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.check_until(text,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.check_zone(text) to pgsched_api
grant execute on pgsched_internal.check_zone(text) to pgsched_worker
grant execute on pgsched_internal.circuit_of(text,text) to pgsched_api
grant execute on pgsched_internal.circuit_of(text,text) to pgsched_worker
grant execute on pgsched_internal.client_of(text,jsonb) to pgsched_api
grant execute on pgsched_internal.client_of(text,jsonb) to pgsched_worker
grant execute on pgsched_internal.clients_acted_for() to pgsched_api
grant execute on pgsched_internal.clients_acted_for() to pgsched_worker
grant execute on pgsched_internal.count_dead_letters(jsonb,text[],timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.count_dead_letters(jsonb,text[],timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.count_executions(jsonb,text[],timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.count_executions(jsonb,text[],timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.count_later(text,smallint,pgsched.execution_status,bigint,smallint) to pgsched_api
grant execute on pgsched_internal.count_later(text,smallint,pgsched.execution_status,bigint,smallint) to pgsched_worker
grant execute on pgsched_internal.count_live(text,bigint,boolean) to pgsched_api
grant execute on pgsched_internal.count_live(text,bigint,boolean) to pgsched_reader
grant execute on pgsched_internal.count_live(text,bigint,boolean) to pgsched_worker
grant execute on pgsched_internal.count_named(text,jsonb,text[],interval) to pgsched_api
grant execute on pgsched_internal.count_named(text,jsonb,text[],interval) to pgsched_worker
grant execute on pgsched_internal.count_outcome(uuid,pgsched.execution_status) to pgsched_api
grant execute on pgsched_internal.count_outcome(uuid,pgsched.execution_status) to pgsched_worker
grant execute on pgsched_internal.create_key(text,bytea,text,text[],text[],timestamp with time zone,text,integer,integer) to pgsched_api
grant execute on pgsched_internal.create_key(text,bytea,text,text[],text[],timestamp with time zone,text,integer,integer) to pgsched_worker
grant execute on pgsched_internal.crowding(integer,timestamp with time zone[],timestamp with time zone[]) to pgsched_api
grant execute on pgsched_internal.crowding(integer,timestamp with time zone[],timestamp with time zone[]) to pgsched_worker
grant execute on pgsched_internal.day_column(text) to pgsched_api
grant execute on pgsched_internal.day_column(text) to pgsched_worker
grant execute on pgsched_internal.day_table(text,date) to pgsched_api
grant execute on pgsched_internal.day_table(text,date) to pgsched_worker
grant execute on pgsched_internal.days_of(text) to pgsched_api
grant execute on pgsched_internal.days_of(text) to pgsched_reader
grant execute on pgsched_internal.days_of(text) to pgsched_worker
grant execute on pgsched_internal.days_to_archive() to pgsched_worker
grant execute on pgsched_internal.days_to_drop(integer) to pgsched_worker
grant execute on pgsched_internal.days_to_make(integer) to pgsched_worker
grant execute on pgsched_internal.decide(text,text,boolean,double precision,integer,double precision,jsonb,text,smallint,integer,double precision) to pgsched_api
grant execute on pgsched_internal.decide(text,text,boolean,double precision,integer,double precision,jsonb,text,smallint,integer,double precision) to pgsched_worker
grant execute on pgsched_internal.decide_failure(pgsched.executions,text,boolean,interval,boolean) to pgsched_api
grant execute on pgsched_internal.decide_failure(pgsched.executions,text,boolean,interval,boolean) to pgsched_worker
grant execute on pgsched_internal.default_attempts() to pgsched_api
grant execute on pgsched_internal.default_attempts() to pgsched_worker
grant execute on pgsched_internal.dependents_of(uuid[],uuid,integer) to pgsched_api
grant execute on pgsched_internal.dependents_of(uuid[],uuid,integer) to pgsched_worker
grant execute on pgsched_internal.detail_of(text) to pgsched_api
grant execute on pgsched_internal.detail_of(text) to pgsched_worker
grant execute on pgsched_internal.digits_in(jsonb) to pgsched_api
grant execute on pgsched_internal.digits_in(jsonb) to pgsched_worker
grant execute on pgsched_internal.drop_day(text) to pgsched_worker
grant execute on pgsched_internal.drop_partitions(pgsched.queues) to pgsched_api
grant execute on pgsched_internal.drop_partitions(pgsched.queues) to pgsched_worker
grant execute on pgsched_internal.due_among(smallint,text,integer,text[],text[],uuid[],timestamp with time zone,integer,bigint) to pgsched_api
grant execute on pgsched_internal.due_among(smallint,text,integer,text[],text[],uuid[],timestamp with time zone,integer,bigint) to pgsched_worker
grant execute on pgsched_internal.due_in(smallint,integer,text[],text[],uuid[]) to pgsched_api
grant execute on pgsched_internal.due_in(smallint,integer,text[],text[],uuid[]) to pgsched_worker
grant execute on pgsched_internal.due_to_pull(smallint,integer,integer,text[],text[],uuid[]) to pgsched_api
grant execute on pgsched_internal.due_to_pull(smallint,integer,integer,text[],text[],uuid[]) to pgsched_worker
grant execute on pgsched_internal.edit_execution(uuid,jsonb,text,text) to pgsched_api
grant execute on pgsched_internal.edit_execution(uuid,jsonb,text,text) to pgsched_worker
grant execute on pgsched_internal.edit_job(uuid,jsonb,text,text,boolean) to pgsched_api
grant execute on pgsched_internal.edit_job(uuid,jsonb,text,text,boolean) to pgsched_worker
grant execute on pgsched_internal.edited(pgsched.jobs,jsonb) to pgsched_api
grant execute on pgsched_internal.edited(pgsched.jobs,jsonb) to pgsched_worker
grant execute on pgsched_internal.edited_execution(pgsched.executions,jsonb) to pgsched_api
grant execute on pgsched_internal.edited_execution(pgsched.executions,jsonb) to pgsched_worker
grant execute on pgsched_internal.end_execution(pgsched.executions,pgsched.execution_status,text,timestamp with time zone,bigint,smallint,jsonb,boolean,boolean,timestamp with time zone,double precision) to pgsched_api
grant execute on pgsched_internal.end_execution(pgsched.executions,pgsched.execution_status,text,timestamp with time zone,bigint,smallint,jsonb,boolean,boolean,timestamp with time zone,double precision) to pgsched_worker
grant execute on pgsched_internal.end_if_late(smallint,uuid) to pgsched_api
grant execute on pgsched_internal.end_if_late(smallint,uuid) to pgsched_worker
grant execute on pgsched_internal.end_in_hand(pgsched.executions,pgsched.execution_status,jsonb,text,boolean,boolean) to pgsched_api
grant execute on pgsched_internal.end_in_hand(pgsched.executions,pgsched.execution_status,jsonb,text,boolean,boolean) to pgsched_worker
grant execute on pgsched_internal.end_overdue(integer) to pgsched_api
grant execute on pgsched_internal.end_overdue(integer) to pgsched_worker
grant execute on pgsched_internal.ended_under(pgsched_internal.keys,text,text,text,smallint) to pgsched_api
grant execute on pgsched_internal.ended_under(pgsched_internal.keys,text,text,text,smallint) to pgsched_worker
grant execute on pgsched_internal.expire_dead_letters(integer) to pgsched_worker
grant execute on pgsched_internal.fail_in_hand(pgsched.executions,text,boolean,interval,boolean,boolean) to pgsched_api
grant execute on pgsched_internal.fail_in_hand(pgsched.executions,text,boolean,interval,boolean,boolean) to pgsched_worker
grant execute on pgsched_internal.fault_of_json(jsonb) to pgsched_api
grant execute on pgsched_internal.fault_of_json(jsonb) to pgsched_worker
grant execute on pgsched_internal.fault_of_values(jsonb) to pgsched_api
grant execute on pgsched_internal.fault_of_values(jsonb) to pgsched_worker
grant execute on pgsched_internal.find_execution(text,text) to pgsched_api
grant execute on pgsched_internal.find_execution(text,text) to pgsched_worker
grant execute on pgsched_internal.fire_dependents(uuid[]) to pgsched_api
grant execute on pgsched_internal.fire_dependents(uuid[]) to pgsched_worker
grant execute on pgsched_internal.first_in_history(text,timestamp with time zone,uuid,text,text,timestamp with time zone,boolean) to pgsched_api
grant execute on pgsched_internal.first_in_history(text,timestamp with time zone,uuid,text,text,timestamp with time zone,boolean) to pgsched_worker
grant execute on pgsched_internal.first_partition_of(integer) to pgsched_api
grant execute on pgsched_internal.first_partition_of(integer) to pgsched_client
grant execute on pgsched_internal.first_partition_of(integer) to pgsched_reader
grant execute on pgsched_internal.first_partition_of(integer) to pgsched_worker
grant execute on pgsched_internal.follow_change(pgsched.executions,pgsched.jobs) to pgsched_api
grant execute on pgsched_internal.follow_change(pgsched.executions,pgsched.jobs) to pgsched_worker
grant execute on pgsched_internal.follow_edit(pgsched.jobs,pgsched.jobs,text,boolean,boolean) to pgsched_api
grant execute on pgsched_internal.follow_edit(pgsched.jobs,pgsched.jobs,text,boolean,boolean) to pgsched_worker
grant execute on pgsched_internal.follow_end(pgsched.executions,pgsched.execution_status,text,smallint,jsonb,boolean) to pgsched_api
grant execute on pgsched_internal.follow_end(pgsched.executions,pgsched.execution_status,text,smallint,jsonb,boolean) to pgsched_worker
grant execute on pgsched_internal.follow_move(pgsched.executions,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.follow_move(pgsched.executions,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.follow_replaced(pgsched.jobs,pgsched.jobs) to pgsched_api
grant execute on pgsched_internal.follow_replaced(pgsched.jobs,pgsched.jobs) to pgsched_worker
grant execute on pgsched_internal.follow_unbegun(pgsched.jobs,text) to pgsched_api
grant execute on pgsched_internal.follow_unbegun(pgsched.jobs,text) to pgsched_worker
grant execute on pgsched_internal.forget_dependencies(uuid) to pgsched_api
grant execute on pgsched_internal.forget_dependencies(uuid) to pgsched_worker
grant execute on pgsched_internal.gate_of(text,text) to pgsched_api
grant execute on pgsched_internal.gate_of(text,text) to pgsched_worker
grant execute on pgsched_internal.give_key(text,text,uuid,smallint) to pgsched_api
grant execute on pgsched_internal.give_key(text,text,uuid,smallint) to pgsched_worker
grant execute on pgsched_internal.grant_execute(text[],regrole) to pgsched_api
grant execute on pgsched_internal.grant_execute(text[],regrole) to pgsched_worker
grant execute on pgsched_internal.hand_back(pgsched.executions) to pgsched_api
grant execute on pgsched_internal.hand_back(pgsched.executions) to pgsched_worker
grant execute on pgsched_internal.has_ended(uuid) to pgsched_api
grant execute on pgsched_internal.has_ended(uuid) to pgsched_worker
grant execute on pgsched_internal.has_keys() to pgsched_api
grant execute on pgsched_internal.has_keys() to pgsched_worker
grant execute on pgsched_internal.has_no_such_day(text) to pgsched_api
grant execute on pgsched_internal.has_no_such_day(text) to pgsched_worker
grant execute on pgsched_internal.has_target() to pgsched_api
grant execute on pgsched_internal.has_target() to pgsched_worker
grant execute on pgsched_internal.held(jsonb,text,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.held(jsonb,text,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.held_until(pgsched.executions) to pgsched_api
grant execute on pgsched_internal.held_until(pgsched.executions) to pgsched_worker
grant execute on pgsched_internal.histogram_of(smallint[],bigint[]) to pgsched_api
grant execute on pgsched_internal.histogram_of(smallint[],bigint[]) to pgsched_worker
grant execute on pgsched_internal.hold_for(smallint,uuid,jsonb,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.hold_for(smallint,uuid,jsonb,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.hold_withdrawn(pgsched.executions,text) to pgsched_api
grant execute on pgsched_internal.hold_withdrawn(pgsched.executions,text) to pgsched_worker
grant execute on pgsched_internal.homes_of(uuid) to pgsched_api
grant execute on pgsched_internal.homes_of(uuid) to pgsched_worker
grant execute on pgsched_internal.in_history(uuid) to pgsched_api
grant execute on pgsched_internal.in_history(uuid) to pgsched_worker
grant execute on pgsched_internal.in_partition(smallint,text) to pgsched_api
grant execute on pgsched_internal.in_partition(smallint,text) to pgsched_worker
grant execute on pgsched_internal.insert_waiting(uuid,timestamp with time zone,text,text,jsonb,jsonb,text,text,smallint,jsonb) to pgsched_api
grant execute on pgsched_internal.insert_waiting(uuid,timestamp with time zone,text,text,jsonb,jsonb,text,text,smallint,jsonb) to pgsched_worker
grant execute on pgsched_internal.is_a_lock(text) to pgsched_api
grant execute on pgsched_internal.is_a_lock(text) to pgsched_worker
grant execute on pgsched_internal.is_ahead(pgsched.executions) to pgsched_api
grant execute on pgsched_internal.is_ahead(pgsched.executions) to pgsched_worker
grant execute on pgsched_internal.is_api() to pgsched_api
grant execute on pgsched_internal.is_api() to pgsched_worker
grant execute on pgsched_internal.is_blocked(smallint,text,text,boolean) to pgsched_api
grant execute on pgsched_internal.is_blocked(smallint,text,text,boolean) to pgsched_worker
grant execute on pgsched_internal.is_current(bigint) to pgsched_api
grant execute on pgsched_internal.is_current(bigint) to pgsched_worker
grant execute on pgsched_internal.is_day(text) to pgsched_api
grant execute on pgsched_internal.is_day(text) to pgsched_worker
grant execute on pgsched_internal.is_duration(jsonb,interval,interval) to pgsched_api
grant execute on pgsched_internal.is_duration(jsonb,interval,interval) to pgsched_worker
grant execute on pgsched_internal.is_elsewhere() to pgsched_api
grant execute on pgsched_internal.is_elsewhere() to pgsched_worker
grant execute on pgsched_internal.is_instant(jsonb) to pgsched_api
grant execute on pgsched_internal.is_instant(jsonb) to pgsched_worker
grant execute on pgsched_internal.is_kept(text,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.is_kept(text,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.is_live(pgsched_internal.keys) to pgsched_api
grant execute on pgsched_internal.is_live(pgsched_internal.keys) to pgsched_worker
grant execute on pgsched_internal.is_living(pgsched.workers) to pgsched_api
grant execute on pgsched_internal.is_living(pgsched.workers) to pgsched_reader
grant execute on pgsched_internal.is_living(pgsched.workers) to pgsched_worker
grant execute on pgsched_internal.is_lost(pgsched.executions) to pgsched_api
grant execute on pgsched_internal.is_lost(pgsched.executions) to pgsched_worker
grant execute on pgsched_internal.is_named(pgsched.executions,jsonb,text[]) to pgsched_api
grant execute on pgsched_internal.is_named(pgsched.executions,jsonb,text[]) to pgsched_worker
grant execute on pgsched_internal.is_of_a_row(text) to pgsched_api
grant execute on pgsched_internal.is_of_a_row(text) to pgsched_worker
grant execute on pgsched_internal.is_of_key(smallint,uuid,text,text) to pgsched_api
grant execute on pgsched_internal.is_of_key(smallint,uuid,text,text) to pgsched_worker
grant execute on pgsched_internal.is_only_form(text) to pgsched_api
grant execute on pgsched_internal.is_only_form(text) to pgsched_worker
grant execute on pgsched_internal.is_privileged(name) to pgsched_api
grant execute on pgsched_internal.is_privileged(name) to pgsched_worker
grant execute on pgsched_internal.is_secret_ref(jsonb) to pgsched_api
grant execute on pgsched_internal.is_secret_ref(jsonb) to pgsched_worker
grant execute on pgsched_internal.is_watched(integer) to pgsched_api
grant execute on pgsched_internal.is_watched(integer) to pgsched_worker
grant execute on pgsched_internal.is_whole(jsonb,bigint,bigint) to pgsched_api
grant execute on pgsched_internal.is_whole(jsonb,bigint,bigint) to pgsched_worker
grant execute on pgsched_internal.job_named(text,text) to pgsched_api
grant execute on pgsched_internal.job_named(text,text) to pgsched_worker
grant execute on pgsched_internal.job_under(text,text,text) to pgsched_api
grant execute on pgsched_internal.job_under(text,text,text) to pgsched_worker
grant execute on pgsched_internal.jobs_named(text,jsonb,text[]) to pgsched_api
grant execute on pgsched_internal.jobs_named(text,jsonb,text[]) to pgsched_worker
grant execute on pgsched_internal.keep_dead_letters(integer,integer) to pgsched_worker
grant execute on pgsched_internal.kept_under(text,text,text) to pgsched_api
grant execute on pgsched_internal.kept_under(text,text,text) to pgsched_worker
grant execute on pgsched_internal.key_retention() to pgsched_api
grant execute on pgsched_internal.key_retention() to pgsched_worker
grant execute on pgsched_internal.laid_over(jsonb,jsonb) to pgsched_api
grant execute on pgsched_internal.laid_over(jsonb,jsonb) to pgsched_worker
grant execute on pgsched_internal.last_replay(uuid) to pgsched_api
grant execute on pgsched_internal.last_replay(uuid) to pgsched_worker
grant execute on pgsched_internal.last_under(text,text) to pgsched_api
grant execute on pgsched_internal.last_under(text,text) to pgsched_worker
grant execute on pgsched_internal.lateness(jsonb,integer,double precision) to pgsched_api
grant execute on pgsched_internal.lateness(jsonb,integer,double precision) to pgsched_worker
grant execute on pgsched_internal.lease_in(pgsched_internal.consumer,smallint,uuid[]) to pgsched_api
grant execute on pgsched_internal.lease_in(pgsched_internal.consumer,smallint,uuid[]) to pgsched_worker
grant execute on pgsched_internal.lease_to(pgsched_internal.consumer,smallint[],uuid[]) to pgsched_api
grant execute on pgsched_internal.lease_to(pgsched_internal.consumer,smallint[],uuid[]) to pgsched_worker
grant execute on pgsched_internal.leave_watch(integer,integer) to pgsched_worker
grant execute on pgsched_internal.left_as_it_is(pgsched_internal.keys,pgsched.executions,text) to pgsched_api
grant execute on pgsched_internal.left_as_it_is(pgsched_internal.keys,pgsched.executions,text) to pgsched_worker
grant execute on pgsched_internal.length_of(text) to pgsched_api
grant execute on pgsched_internal.length_of(text) to pgsched_worker
grant execute on pgsched_internal.let_next(smallint,text,text,boolean) to pgsched_api
grant execute on pgsched_internal.let_next(smallint,text,text,boolean) to pgsched_worker
grant execute on pgsched_internal.live_execution(smallint,uuid) to pgsched_api
grant execute on pgsched_internal.live_execution(smallint,uuid) to pgsched_worker
grant execute on pgsched_internal.lock_dead_letter(uuid,boolean) to pgsched_api
grant execute on pgsched_internal.lock_dead_letter(uuid,boolean) to pgsched_worker
grant execute on pgsched_internal.lock_editable(uuid,jsonb) to pgsched_api
grant execute on pgsched_internal.lock_editable(uuid,jsonb) to pgsched_worker
grant execute on pgsched_internal.lock_execution(uuid) to pgsched_api
grant execute on pgsched_internal.lock_execution(uuid) to pgsched_worker
grant execute on pgsched_internal.lock_job(uuid) to pgsched_api
grant execute on pgsched_internal.lock_job(uuid) to pgsched_worker
grant execute on pgsched_internal.lock_key(text,text,uuid,smallint) to pgsched_api
grant execute on pgsched_internal.lock_key(text,text,uuid,smallint) to pgsched_worker
grant execute on pgsched_internal.lock_key_of_api(text) to pgsched_api
grant execute on pgsched_internal.lock_key_of_api(text) to pgsched_worker
grant execute on pgsched_internal.lock_live(smallint,uuid) to pgsched_api
grant execute on pgsched_internal.lock_live(smallint,uuid) to pgsched_worker
grant execute on pgsched_internal.lock_named(text,text,boolean) to pgsched_api
grant execute on pgsched_internal.lock_named(text,text,boolean) to pgsched_worker
grant execute on pgsched_internal.lock_queue(text) to pgsched_api
grant execute on pgsched_internal.lock_queue(text) to pgsched_worker
grant execute on pgsched_internal.lock_waiting(smallint,uuid) to pgsched_api
grant execute on pgsched_internal.lock_waiting(smallint,uuid) to pgsched_worker
grant execute on pgsched_internal.log_change(text,text,uuid,jsonb,jsonb,text) to pgsched_api
grant execute on pgsched_internal.log_change(text,text,uuid,jsonb,jsonb,text) to pgsched_worker
grant execute on pgsched_internal.look_through_dead_letters(jsonb,text[],uuid,timestamp with time zone,integer) to pgsched_api
grant execute on pgsched_internal.look_through_dead_letters(jsonb,text[],uuid,timestamp with time zone,integer) to pgsched_worker
grant execute on pgsched_internal.look_up_keys(text[]) to pgsched_api
grant execute on pgsched_internal.look_up_keys(text[]) to pgsched_worker
grant execute on pgsched_internal.lose_in_hand(pgsched.executions) to pgsched_api
grant execute on pgsched_internal.lose_in_hand(pgsched.executions) to pgsched_worker
grant execute on pgsched_internal.make_day(text,date) to pgsched_worker
grant execute on pgsched_internal.make_partition(integer,boolean) to pgsched_api
grant execute on pgsched_internal.make_partition(integer,boolean) to pgsched_worker
grant execute on pgsched_internal.mark_archived(date,text) to pgsched_worker
grant execute on pgsched_internal.mark_awaited(uuid,uuid,text) to pgsched_api
grant execute on pgsched_internal.mark_awaited(uuid,uuid,text) to pgsched_worker
grant execute on pgsched_internal.mark_dead_letter(pgsched.history,uuid,text) to pgsched_api
grant execute on pgsched_internal.mark_dead_letter(pgsched.history,uuid,text) to pgsched_worker
grant execute on pgsched_internal.mark_ends(integer) to pgsched_api
grant execute on pgsched_internal.mark_ends(integer) to pgsched_worker
grant execute on pgsched_internal.may_adopt(text,date,date) to pgsched_api
grant execute on pgsched_internal.may_adopt(text,date,date) to pgsched_worker
grant execute on pgsched_internal.may_be_handed_out(smallint,uuid) to pgsched_api
grant execute on pgsched_internal.may_be_handed_out(smallint,uuid) to pgsched_worker
grant execute on pgsched_internal.may_do_everything() to pgsched_api
grant execute on pgsched_internal.may_do_everything() to pgsched_worker
grant execute on pgsched_internal.may_go(date) to pgsched_api
grant execute on pgsched_internal.may_go(date) to pgsched_worker
grant execute on pgsched_internal.may_see(text) to pgsched_api
grant execute on pgsched_internal.may_see(text) to pgsched_worker
grant execute on pgsched_internal.may_still_run(pgsched.executions,pgsched.jobs,boolean) to pgsched_api
grant execute on pgsched_internal.may_still_run(pgsched.executions,pgsched.jobs,boolean) to pgsched_worker
grant execute on pgsched_internal.move_to(pgsched.executions,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.move_to(pgsched.executions,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.moves_instants(pgsched.jobs,pgsched.jobs) to pgsched_api
grant execute on pgsched_internal.moves_instants(pgsched.jobs,pgsched.jobs) to pgsched_worker
grant execute on pgsched_internal.my_clients() to pgsched_api
grant execute on pgsched_internal.my_clients() to pgsched_client
grant execute on pgsched_internal.my_clients() to pgsched_worker
grant execute on pgsched_internal.new_id() to pgsched_api
grant execute on pgsched_internal.new_id() to pgsched_client
grant execute on pgsched_internal.new_id() to pgsched_worker
grant execute on pgsched_internal.new_id_in(smallint) to pgsched_api
grant execute on pgsched_internal.new_id_in(smallint) to pgsched_worker
grant execute on pgsched_internal.new_token(smallint) to pgsched_api
grant execute on pgsched_internal.new_token(smallint) to pgsched_worker
grant execute on pgsched_internal.next_of_many(pgsched.bulk_operations) to pgsched_api
grant execute on pgsched_internal.next_of_many(pgsched.bulk_operations) to pgsched_worker
grant execute on pgsched_internal.next_partition(jsonb,smallint) to pgsched_api
grant execute on pgsched_internal.next_partition(jsonb,smallint) to pgsched_worker
grant execute on pgsched_internal.next_queue_number() to pgsched_api
grant execute on pgsched_internal.next_queue_number() to pgsched_worker
grant execute on pgsched_internal.not_empty(smallint[],text[]) to pgsched_api
grant execute on pgsched_internal.not_empty(smallint[],text[]) to pgsched_worker
grant execute on pgsched_internal.not_found_at_once(uuid[]) to pgsched_api
grant execute on pgsched_internal.not_found_at_once(uuid[]) to pgsched_worker
grant execute on pgsched_internal.note_ends(uuid[],pgsched.execution_status[],timestamp with time zone[],text[],uuid[]) to pgsched_api
grant execute on pgsched_internal.note_ends(uuid[],pgsched.execution_status[],timestamp with time zone[],text[],uuid[]) to pgsched_worker
grant execute on pgsched_internal.note_ends_with(uuid[],pgsched.execution_status[],timestamp with time zone[],text[],uuid[]) to pgsched_api
grant execute on pgsched_internal.note_ends_with(uuid[],pgsched.execution_status[],timestamp with time zone[],text[],uuid[]) to pgsched_worker
grant execute on pgsched_internal.note_key_use(text) to pgsched_api
grant execute on pgsched_internal.note_key_use(text) to pgsched_worker
grant execute on pgsched_internal.note_move(pgsched.jobs) to pgsched_api
grant execute on pgsched_internal.note_move(pgsched.jobs) to pgsched_worker
grant execute on pgsched_internal.note_result(text,pgsched.executions,bigint,jsonb,text,boolean,interval) to pgsched_api
grant execute on pgsched_internal.note_result(text,pgsched.executions,bigint,jsonb,text,boolean,interval) to pgsched_worker
grant execute on pgsched_internal.note_server(pgsched_internal.fleet,bigint) to pgsched_api
grant execute on pgsched_internal.note_server(pgsched_internal.fleet,bigint) to pgsched_worker
grant execute on pgsched_internal.notify_unless_silent(text) to pgsched_api
grant execute on pgsched_internal.notify_unless_silent(text) to pgsched_worker
grant execute on pgsched_internal.notify_wake(smallint,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.notify_wake(smallint,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.notify_workers(text) to pgsched_api
grant execute on pgsched_internal.notify_workers(text) to pgsched_worker
grant execute on pgsched_internal.numbers_in(jsonb) to pgsched_api
grant execute on pgsched_internal.numbers_in(jsonb) to pgsched_worker
grant execute on pgsched_internal.open_gate(text,boolean) to pgsched_api
grant execute on pgsched_internal.open_gate(text,boolean) to pgsched_worker
grant execute on pgsched_internal.options_of(jsonb,text,smallint,integer) to pgsched_api
grant execute on pgsched_internal.options_of(jsonb,text,smallint,integer) to pgsched_worker
grant execute on pgsched_internal.owner_of_job(uuid) to pgsched_api
grant execute on pgsched_internal.owner_of_job(uuid) to pgsched_worker
grant execute on pgsched_internal.partition_in(uuid) to pgsched_api
grant execute on pgsched_internal.partition_in(uuid) to pgsched_worker
grant execute on pgsched_internal.partition_of(pgsched.jobs) to pgsched_api
grant execute on pgsched_internal.partition_of(pgsched.jobs) to pgsched_worker
grant execute on pgsched_internal.partition_with(uuid) to pgsched_api
grant execute on pgsched_internal.partition_with(uuid) to pgsched_worker
grant execute on pgsched_internal.partitions_of(integer) to pgsched_api
grant execute on pgsched_internal.partitions_of(integer) to pgsched_client
grant execute on pgsched_internal.partitions_of(integer) to pgsched_reader
grant execute on pgsched_internal.partitions_of(integer) to pgsched_worker
grant execute on pgsched_internal.partitions_per_queue() to pgsched_api
grant execute on pgsched_internal.partitions_per_queue() to pgsched_client
grant execute on pgsched_internal.partitions_per_queue() to pgsched_reader
grant execute on pgsched_internal.partitions_per_queue() to pgsched_worker
grant execute on pgsched_internal.pause_job(uuid,text) to pgsched_api
grant execute on pgsched_internal.pause_job(uuid,text) to pgsched_worker
grant execute on pgsched_internal.put_away(smallint,uuid,text) to pgsched_api
grant execute on pgsched_internal.put_away(smallint,uuid,text) to pgsched_worker
grant execute on pgsched_internal.put_job(uuid,text,jsonb,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text,text) to pgsched_api
grant execute on pgsched_internal.put_job(uuid,text,jsonb,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text,text) to pgsched_worker
grant execute on pgsched_internal.put_secret(text,text,bytea,text[],text) to pgsched_api
grant execute on pgsched_internal.put_secret(text,text,bytea,text[],text) to pgsched_worker
grant execute on pgsched_internal.quantile(integer[],double precision) to pgsched_api
grant execute on pgsched_internal.quantile(integer[],double precision) to pgsched_client
grant execute on pgsched_internal.quantile(integer[],double precision) to pgsched_reader
grant execute on pgsched_internal.quantile(integer[],double precision) to pgsched_worker
grant execute on pgsched_internal.queue_number_of(integer) to pgsched_api
grant execute on pgsched_internal.queue_number_of(integer) to pgsched_reader
grant execute on pgsched_internal.queue_number_of(integer) to pgsched_worker
grant execute on pgsched_internal.queue_to_tell(smallint,text) to pgsched_api
grant execute on pgsched_internal.queue_to_tell(smallint,text) to pgsched_worker
grant execute on pgsched_internal.reap_in_hand(smallint,integer,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.reap_in_hand(smallint,integer,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.recall(smallint,uuid,bigint) to pgsched_api
grant execute on pgsched_internal.recall(smallint,uuid,bigint) to pgsched_worker
grant execute on pgsched_internal.record_in_hand(pgsched.executions,pgsched_internal.results_to_record) to pgsched_api
grant execute on pgsched_internal.record_in_hand(pgsched.executions,pgsched_internal.results_to_record) to pgsched_worker
grant execute on pgsched_internal.record_result(pgsched_internal.results_to_record) to pgsched_api
grant execute on pgsched_internal.record_result(pgsched_internal.results_to_record) to pgsched_worker
grant execute on pgsched_internal.record_results(integer) to pgsched_api
grant execute on pgsched_internal.record_results(integer) to pgsched_worker
grant execute on pgsched_internal.refuse(text,text,text) to pgsched_api
grant execute on pgsched_internal.refuse(text,text,text) to pgsched_client
grant execute on pgsched_internal.refuse(text,text,text) to pgsched_worker
grant execute on pgsched_internal.refuse_declared(pgsched.jobs,text) to pgsched_api
grant execute on pgsched_internal.refuse_declared(pgsched.jobs,text) to pgsched_worker
grant execute on pgsched_internal.refuse_full(integer) to pgsched_api
grant execute on pgsched_internal.refuse_full(integer) to pgsched_worker
grant execute on pgsched_internal.refuse_taken(pgsched_internal.keys,text) to pgsched_api
grant execute on pgsched_internal.refuse_taken(pgsched_internal.keys,text) to pgsched_worker
grant execute on pgsched_internal.release_abandoned(integer,uuid) to pgsched_api
grant execute on pgsched_internal.release_abandoned(integer,uuid) to pgsched_worker
grant execute on pgsched_internal.release_dependents(integer,uuid,uuid,integer) to pgsched_api
grant execute on pgsched_internal.release_dependents(integer,uuid,uuid,integer) to pgsched_worker
grant execute on pgsched_internal.replace_waiting(pgsched.executions,text,jsonb,timestamp with time zone,jsonb,jsonb) to pgsched_api
grant execute on pgsched_internal.replace_waiting(pgsched.executions,text,jsonb,timestamp with time zone,jsonb,jsonb) to pgsched_worker
grant execute on pgsched_internal.replan_from(pgsched.executions,pgsched.jobs) to pgsched_api
grant execute on pgsched_internal.replan_from(pgsched.executions,pgsched.jobs) to pgsched_worker
grant execute on pgsched_internal.reseal(text,text,bytea,bytea) to pgsched_api
grant execute on pgsched_internal.reseal(text,text,bytea,bytea) to pgsched_worker
grant execute on pgsched_internal.restore_target(text,text,text) to pgsched_api
grant execute on pgsched_internal.restore_target(text,text,text) to pgsched_worker
grant execute on pgsched_internal.resume_job(uuid) to pgsched_api
grant execute on pgsched_internal.resume_job(uuid) to pgsched_worker
grant execute on pgsched_internal.revive(pgsched.history,timestamp with time zone,text,jsonb,jsonb,text) to pgsched_api
grant execute on pgsched_internal.revive(pgsched.history,timestamp with time zone,text,jsonb,jsonb,text) to pgsched_worker
grant execute on pgsched_internal.revoke_key(text,text) to pgsched_api
grant execute on pgsched_internal.revoke_key(text,text) to pgsched_worker
grant execute on pgsched_internal.roll_up(jsonb) to pgsched_worker
grant execute on pgsched_internal.roll_up_notes(integer) to pgsched_worker
grant execute on pgsched_internal.rollup_days() to pgsched_api
grant execute on pgsched_internal.rollup_days() to pgsched_worker
grant execute on pgsched_internal.rotate_key(text,bytea,interval,text) to pgsched_api
grant execute on pgsched_internal.rotate_key(text,bytea,interval,text) to pgsched_worker
grant execute on pgsched_internal.rotate_signing_secret(text,bytea,text,interval,text) to pgsched_api
grant execute on pgsched_internal.rotate_signing_secret(text,bytea,text,interval,text) to pgsched_worker
grant execute on pgsched_internal.rows_of_job(uuid,text,integer,timestamp with time zone,timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.rows_of_job(uuid,text,integer,timestamp with time zone,timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.schedule_after(text,jsonb,timestamp with time zone,text,text,text,text,jsonb,text,text[],text,jsonb) to pgsched_api
grant execute on pgsched_internal.schedule_after(text,jsonb,timestamp with time zone,text,text,text,text,jsonb,text,text[],text,jsonb) to pgsched_worker
grant execute on pgsched_internal.schedule_job(text,jsonb,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text,text) to pgsched_api
grant execute on pgsched_internal.schedule_job(text,jsonb,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text,text) to pgsched_worker
grant execute on pgsched_internal.schedule_keyed(text,jsonb,timestamp with time zone,text,text,text,text,jsonb,text,jsonb) to pgsched_api
grant execute on pgsched_internal.schedule_keyed(text,jsonb,timestamp with time zone,text,text,text,text,jsonb,text,jsonb) to pgsched_worker
grant execute on pgsched_internal.schedule_plain(text,jsonb,timestamp with time zone,text,text,text,jsonb,jsonb) to pgsched_api
grant execute on pgsched_internal.schedule_plain(text,jsonb,timestamp with time zone,text,text,text,jsonb,jsonb) to pgsched_worker
grant execute on pgsched_internal.schedule_together(text,jsonb) to pgsched_api
grant execute on pgsched_internal.schedule_together(text,jsonb) to pgsched_worker
grant execute on pgsched_internal.schedule_under(pgsched_internal.keys,uuid,smallint,text,jsonb,timestamp with time zone,text,text,text,jsonb,text,jsonb) to pgsched_api
grant execute on pgsched_internal.schedule_under(pgsched_internal.keys,uuid,smallint,text,jsonb,timestamp with time zone,text,text,text,jsonb,text,jsonb) to pgsched_worker
grant execute on pgsched_internal.sealed_with() to pgsched_api
grant execute on pgsched_internal.sealed_with() to pgsched_reader
grant execute on pgsched_internal.sealed_with() to pgsched_worker
grant execute on pgsched_internal.seconds_in(jsonb,text) to pgsched_api
grant execute on pgsched_internal.seconds_in(jsonb,text) to pgsched_worker
grant execute on pgsched_internal.seconds_since(integer) to pgsched_api
grant execute on pgsched_internal.seconds_since(integer) to pgsched_reader
grant execute on pgsched_internal.seconds_since(integer) to pgsched_worker
grant execute on pgsched_internal.set_aside(smallint,uuid,text,boolean) to pgsched_api
grant execute on pgsched_internal.set_aside(smallint,uuid,text,boolean) to pgsched_worker
grant execute on pgsched_internal.set_client_paused(boolean,text,text) to pgsched_api
grant execute on pgsched_internal.set_client_paused(boolean,text,text) to pgsched_worker
grant execute on pgsched_internal.set_installation_paused(boolean,text) to pgsched_api
grant execute on pgsched_internal.set_installation_paused(boolean,text) to pgsched_worker
grant execute on pgsched_internal.set_key_rate(text,integer,integer,text) to pgsched_api
grant execute on pgsched_internal.set_key_rate(text,integer,integer,text) to pgsched_worker
grant execute on pgsched_internal.set_paused(boolean,text,text,text,timestamp with time zone,text,text) to pgsched_api
grant execute on pgsched_internal.set_paused(boolean,text,text,text,timestamp with time zone,text,text) to pgsched_worker
grant execute on pgsched_internal.set_queue_paused(boolean,text,text) to pgsched_api
grant execute on pgsched_internal.set_queue_paused(boolean,text,text) to pgsched_worker
grant execute on pgsched_internal.set_worker_paused(boolean,text,text) to pgsched_api
grant execute on pgsched_internal.set_worker_paused(boolean,text,text) to pgsched_worker
grant execute on pgsched_internal.setting(text,text) to pgsched_api
grant execute on pgsched_internal.setting(text,text) to pgsched_worker
grant execute on pgsched_internal.settle_called(smallint,uuid,bigint,jsonb) to pgsched_client
grant execute on pgsched_internal.settle_called(smallint,uuid,bigint,jsonb) to pgsched_worker
grant execute on pgsched_internal.shown(text,jsonb) to pgsched_api
grant execute on pgsched_internal.shown(text,jsonb) to pgsched_worker
grant execute on pgsched_internal.shut_gate(text,timestamp with time zone,text) to pgsched_api
grant execute on pgsched_internal.shut_gate(text,timestamp with time zone,text) to pgsched_worker
grant execute on pgsched_internal.skip_dependents(uuid[]) to pgsched_api
grant execute on pgsched_internal.skip_dependents(uuid[]) to pgsched_worker
grant execute on pgsched_internal.skip_range(pgsched.jobs,timestamp with time zone,timestamp with time zone,bigint,text) to pgsched_api
grant execute on pgsched_internal.skip_range(pgsched.jobs,timestamp with time zone,timestamp with time zone,bigint,text) to pgsched_worker
grant execute on pgsched_internal.slot_for(text,text,text) to pgsched_api
grant execute on pgsched_internal.slot_for(text,text,text) to pgsched_worker
grant execute on pgsched_internal.spread_overdue(smallint,timestamp with time zone,timestamp with time zone,interval,integer) to pgsched_api
grant execute on pgsched_internal.spread_overdue(smallint,timestamp with time zone,timestamp with time zone,interval,integer) to pgsched_worker
grant execute on pgsched_internal.stalls() to pgsched_api
grant execute on pgsched_internal.stalls() to pgsched_client
grant execute on pgsched_internal.stalls() to pgsched_reader
grant execute on pgsched_internal.stalls() to pgsched_worker
grant execute on pgsched_internal.status_by_id(uuid) to pgsched_api
grant execute on pgsched_internal.status_by_id(uuid) to pgsched_worker
grant execute on pgsched_internal.still_in_hand(smallint,uuid,bigint) to pgsched_api
grant execute on pgsched_internal.still_in_hand(smallint,uuid,bigint) to pgsched_worker
grant execute on pgsched_internal.still_to_wait_for(pgsched.history) to pgsched_api
grant execute on pgsched_internal.still_to_wait_for(pgsched.history) to pgsched_worker
grant execute on pgsched_internal.succeeded_lately(text,text,uuid) to pgsched_api
grant execute on pgsched_internal.succeeded_lately(text,text,uuid) to pgsched_worker
grant execute on pgsched_internal.sum_of(integer[],integer[]) to pgsched_api
grant execute on pgsched_internal.sum_of(integer[],integer[]) to pgsched_worker
grant execute on pgsched_internal.superseded_by(pgsched.history) to pgsched_api
grant execute on pgsched_internal.superseded_by(pgsched.history) to pgsched_worker
grant execute on pgsched_internal.swap_default(text,text,date,date) to pgsched_api
grant execute on pgsched_internal.swap_default(text,text,date,date) to pgsched_worker
grant execute on pgsched_internal.take_back(pgsched.executions) to pgsched_api
grant execute on pgsched_internal.take_back(pgsched.executions) to pgsched_worker
grant execute on pgsched_internal.take_in_hand(uuid,bigint) to pgsched_api
grant execute on pgsched_internal.take_in_hand(uuid,bigint) to pgsched_worker
grant execute on pgsched_internal.take_key(text,text,uuid,smallint) to pgsched_api
grant execute on pgsched_internal.take_key(text,text,uuid,smallint) to pgsched_worker
grant execute on pgsched_internal.take_out(uuid,timestamp with time zone,text) to pgsched_api
grant execute on pgsched_internal.take_out(uuid,timestamp with time zone,text) to pgsched_worker
grant execute on pgsched_internal.take_turn(pgsched.executions) to pgsched_api
grant execute on pgsched_internal.take_turn(pgsched.executions) to pgsched_worker
grant execute on pgsched_internal.take_watch(integer,integer) to pgsched_worker
grant execute on pgsched_internal.target_host(text) to pgsched_api
grant execute on pgsched_internal.target_host(text) to pgsched_client
grant execute on pgsched_internal.target_host(text) to pgsched_reader
grant execute on pgsched_internal.target_host(text) to pgsched_worker
grant execute on pgsched_internal.tell_of_change(uuid) to pgsched_api
grant execute on pgsched_internal.tell_of_change(uuid) to pgsched_worker
grant execute on pgsched_internal.tell_outcome(pgsched.executions,pgsched.execution_status,text,smallint,jsonb) to pgsched_api
grant execute on pgsched_internal.tell_outcome(pgsched.executions,pgsched.execution_status,text,smallint,jsonb) to pgsched_worker
grant execute on pgsched_internal.that_fit(smallint[],uuid[],boolean[],integer) to pgsched_api
grant execute on pgsched_internal.that_fit(smallint[],uuid[],boolean[],integer) to pgsched_worker
grant execute on pgsched_internal.this_server() to pgsched_api
grant execute on pgsched_internal.this_server() to pgsched_worker
grant execute on pgsched_internal.tidy_keys(integer) to pgsched_api
grant execute on pgsched_internal.tidy_keys(integer) to pgsched_worker
grant execute on pgsched_internal.trim_default_days(integer,integer) to pgsched_worker
grant execute on pgsched_internal.try_gates(text[]) to pgsched_api
grant execute on pgsched_internal.try_gates(text[]) to pgsched_worker
grant execute on pgsched_internal.try_lock(text) to pgsched_api
grant execute on pgsched_internal.try_lock(text) to pgsched_worker
grant execute on pgsched_internal.try_orderings(smallint[]) to pgsched_api
grant execute on pgsched_internal.try_orderings(smallint[]) to pgsched_worker
grant execute on pgsched_internal.unblock(boolean,text,text) to pgsched_api
grant execute on pgsched_internal.unblock(boolean,text,text) to pgsched_worker
grant execute on pgsched_internal.unblock_after(uuid[]) to pgsched_api
grant execute on pgsched_internal.unblock_after(uuid[]) to pgsched_worker
grant execute on pgsched_internal.unbound_strays(text,text) to pgsched_api
grant execute on pgsched_internal.unbound_strays(text,text) to pgsched_worker
grant execute on pgsched_internal.until_next(text) to pgsched_api
grant execute on pgsched_internal.until_next(text) to pgsched_worker
grant execute on pgsched_internal.wait_for(uuid,uuid,text,interval) to pgsched_api
grant execute on pgsched_internal.wait_for(uuid,uuid,text,interval) to pgsched_worker
grant execute on pgsched_internal.wait_for_row(pgsched.executions) to pgsched_api
grant execute on pgsched_internal.wait_for_row(pgsched.executions) to pgsched_worker
grant execute on pgsched_internal.waited(jsonb) to pgsched_api
grant execute on pgsched_internal.waited(jsonb) to pgsched_worker
grant execute on pgsched_internal.waits_for_own(smallint,uuid) to pgsched_api
grant execute on pgsched_internal.waits_for_own(smallint,uuid) to pgsched_worker
grant execute on pgsched_internal.was_dependent(pgsched.history) to pgsched_api
grant execute on pgsched_internal.was_dependent(pgsched.history) to pgsched_worker
grant execute on pgsched_internal.watch_of(integer) to pgsched_api
grant execute on pgsched_internal.watch_of(integer) to pgsched_worker
grant execute on pgsched_internal.weeks_of_history(timestamp with time zone) to pgsched_api
grant execute on pgsched_internal.weeks_of_history(timestamp with time zone) to pgsched_worker
grant execute on pgsched_internal.why_hold(pgsched_internal.fleet,pgsched_internal.fleet,pgsched.installation,boolean,boolean,bigint) to pgsched_api
grant execute on pgsched_internal.why_hold(pgsched_internal.fleet,pgsched_internal.fleet,pgsched.installation,boolean,boolean,bigint) to pgsched_worker
grant execute on pgsched_internal.with_defaults(jsonb,jsonb) to pgsched_api
grant execute on pgsched_internal.with_defaults(jsonb,jsonb) to pgsched_worker
grant execute on pgsched_internal.withdraw(uuid,text,boolean) to pgsched_api
grant execute on pgsched_internal.withdraw(uuid,text,boolean) to pgsched_worker
grant execute on pgsched_internal.write_end(pgsched.executions,pgsched.execution_status,jsonb,text,boolean) to pgsched_api
grant execute on pgsched_internal.write_end(pgsched.executions,pgsched.execution_status,jsonb,text,boolean) to pgsched_worker
grant execute on pgsched_internal.write_log(text,uuid,text,jsonb,text,text,jsonb,jsonb,text) to pgsched_api
grant execute on pgsched_internal.write_log(text,uuid,text,jsonb,text,text,jsonb,jsonb,text) to pgsched_worker
grant execute on pgsched_internal.written_out(jsonb,integer) to pgsched_api
grant execute on pgsched_internal.written_out(jsonb,integer) to pgsched_worker
grant insert on pgsched.executions (client_id) to pgsched_api
grant insert on pgsched.executions (fire_at) to pgsched_api
grant insert on pgsched.executions (job_id) to pgsched_api
grant insert on pgsched.executions (options) to pgsched_api
grant insert on pgsched.executions (ordering_key) to pgsched_api
grant insert on pgsched.executions (partition) to pgsched_api
grant insert on pgsched.executions (payload) to pgsched_api
grant insert on pgsched.executions (plan) to pgsched_api
grant insert on pgsched.executions (scheduled_for) to pgsched_api
grant insert on pgsched.executions (start_at) to pgsched_api
grant insert on pgsched.executions (target) to pgsched_api
grant insert on pgsched.jobs (anchor) to pgsched_client
grant insert on pgsched.jobs (client_id) to pgsched_client
grant insert on pgsched.jobs (cron) to pgsched_client
grant insert on pgsched.jobs (every) to pgsched_client
grant insert on pgsched.jobs (gap) to pgsched_client
grant insert on pgsched.jobs (key) to pgsched_client
grant insert on pgsched.jobs (labels) to pgsched_client
grant insert on pgsched.jobs (options) to pgsched_client
grant insert on pgsched.jobs (ordering_key) to pgsched_client
grant insert on pgsched.jobs (overlap) to pgsched_client
grant insert on pgsched.jobs (payload) to pgsched_client
grant insert on pgsched.jobs (queue) to pgsched_client
grant insert on pgsched.jobs (rules) to pgsched_client
grant insert on pgsched.jobs (target) to pgsched_client
grant insert on pgsched.jobs (timezone) to pgsched_client
grant insert on pgsched_internal.counts_to_roll_up to pgsched_worker
grant insert, select on pgsched.attempts to pgsched_worker
grant insert, select on pgsched.executions (client_id) to pgsched_client
grant insert, select on pgsched.executions (fire_at) to pgsched_client
grant insert, select on pgsched.executions (key) to pgsched_client
grant insert, select on pgsched.executions (labels) to pgsched_client
grant insert, select on pgsched.executions (options) to pgsched_client
grant insert, select on pgsched.executions (ordering_key) to pgsched_client
grant insert, select on pgsched.executions (partition) to pgsched_client
grant insert, select on pgsched.executions (payload) to pgsched_client
grant insert, select on pgsched.executions (target) to pgsched_client
grant insert, select, update on pgsched.history to pgsched_worker
grant select on pgsched.attempts to pgsched_api
grant select on pgsched.attempts to pgsched_client
grant select on pgsched.attempts to pgsched_reader
grant select on pgsched.audit_log to pgsched_api
grant select on pgsched.audit_log to pgsched_client
grant select on pgsched.audit_log to pgsched_reader
grant select on pgsched.audit_log_id_seq to pgsched_api
grant select on pgsched.audit_log_id_seq to pgsched_reader
grant select on pgsched.blocked_keys (blocked_at) to pgsched_client
grant select on pgsched.blocked_keys (client_id) to pgsched_client
grant select on pgsched.blocked_keys (execution_id) to pgsched_client
grant select on pgsched.blocked_keys (ordering_key) to pgsched_client
grant select on pgsched.blocked_keys (partition) to pgsched_client
grant select on pgsched.blocked_keys (reason) to pgsched_client
grant select on pgsched.blocked_keys (until) to pgsched_client
grant select on pgsched.blocked_keys to pgsched_api
grant select on pgsched.blocked_keys to pgsched_reader
grant select on pgsched.bulk_operations to pgsched_api
grant select on pgsched.bulk_operations to pgsched_client
grant select on pgsched.bulk_operations to pgsched_reader
grant select on pgsched.clients (channels) to pgsched_api
grant select on pgsched.clients (channels) to pgsched_client
grant select on pgsched.clients (channels) to pgsched_reader
grant select on pgsched.clients (client_id) to pgsched_api
grant select on pgsched.clients (client_id) to pgsched_client
grant select on pgsched.clients (client_id) to pgsched_reader
grant select on pgsched.clients (created_at) to pgsched_api
grant select on pgsched.clients (created_at) to pgsched_client
grant select on pgsched.clients (created_at) to pgsched_reader
grant select on pgsched.clients (database_role) to pgsched_api
grant select on pgsched.clients (database_role) to pgsched_client
grant select on pgsched.clients (database_role) to pgsched_reader
grant select on pgsched.clients (dead_letter_target) to pgsched_api
grant select on pgsched.clients (dead_letter_target) to pgsched_client
grant select on pgsched.clients (dead_letter_target) to pgsched_reader
grant select on pgsched.clients (dead_letters_for) to pgsched_api
grant select on pgsched.clients (dead_letters_for) to pgsched_client
grant select on pgsched.clients (dead_letters_for) to pgsched_reader
grant select on pgsched.clients (keep) to pgsched_api
grant select on pgsched.clients (keep) to pgsched_client
grant select on pgsched.clients (keep) to pgsched_reader
grant select on pgsched.clients (late_after) to pgsched_api
grant select on pgsched.clients (late_after) to pgsched_client
grant select on pgsched.clients (late_after) to pgsched_reader
grant select on pgsched.clients (on_time_share) to pgsched_api
grant select on pgsched.clients (on_time_share) to pgsched_client
grant select on pgsched.clients (on_time_share) to pgsched_reader
grant select on pgsched.clients (options) to pgsched_api
grant select on pgsched.clients (options) to pgsched_client
grant select on pgsched.clients (options) to pgsched_reader
grant select on pgsched.clients (reason) to pgsched_api
grant select on pgsched.clients (reason) to pgsched_client
grant select on pgsched.clients (reason) to pgsched_reader
grant select on pgsched.clients (state) to pgsched_api
grant select on pgsched.clients (state) to pgsched_client
grant select on pgsched.clients (state) to pgsched_reader
grant select on pgsched.clients (weight) to pgsched_api
grant select on pgsched.clients (weight) to pgsched_client
grant select on pgsched.clients (weight) to pgsched_reader
grant select on pgsched.clients to pgsched_worker
grant select on pgsched.dead_letters to pgsched_api
grant select on pgsched.dead_letters to pgsched_client
grant select on pgsched.dead_letters to pgsched_reader
grant select on pgsched.dead_letters to pgsched_worker
grant select on pgsched.dependencies to pgsched_api
grant select on pgsched.dependencies to pgsched_client
grant select on pgsched.dependencies to pgsched_reader
grant select on pgsched.executions (at_head) to pgsched_client
grant select on pgsched.executions (attempt) to pgsched_client
grant select on pgsched.executions (awaited) to pgsched_client
grant select on pgsched.executions (consumer) to pgsched_client
grant select on pgsched.executions (created_at) to pgsched_client
grant select on pgsched.executions (gate) to pgsched_client
grant select on pgsched.executions (id) to pgsched_client
grant select on pgsched.executions (job_id) to pgsched_client
grant select on pgsched.executions (lease_expires_at) to pgsched_client
grant select on pgsched.executions (lease_owner) to pgsched_client
grant select on pgsched.executions (plan) to pgsched_client
grant select on pgsched.executions (reason) to pgsched_client
grant select on pgsched.executions (scheduled_for) to pgsched_client
grant select on pgsched.executions (start_at) to pgsched_client
grant select on pgsched.executions (uncounted) to pgsched_client
grant select on pgsched.executions (waits) to pgsched_client
grant select on pgsched.executions to pgsched_api
grant select on pgsched.executions to pgsched_reader
grant select on pgsched.history to pgsched_api
grant select on pgsched.history to pgsched_client
grant select on pgsched.history to pgsched_reader
grant select on pgsched.installation to pgsched_api
grant select on pgsched.installation to pgsched_reader
grant select on pgsched.installation to pgsched_worker
grant select on pgsched.jobs to pgsched_api
grant select on pgsched.jobs to pgsched_client
grant select on pgsched.jobs to pgsched_reader
grant select on pgsched.minutes to pgsched_api
grant select on pgsched.minutes to pgsched_client
grant select on pgsched.minutes to pgsched_reader
grant select on pgsched.minutes to pgsched_worker
grant select on pgsched.progress to pgsched_api
grant select on pgsched.progress to pgsched_client
grant select on pgsched.progress to pgsched_reader
grant select on pgsched.queues (first_partition) to pgsched_client
grant select on pgsched.queues (full_since) to pgsched_client
grant select on pgsched.queues (max_waiting) to pgsched_client
grant select on pgsched.queues (name) to pgsched_client
grant select on pgsched.queues (paused_at) to pgsched_client
grant select on pgsched.queues (pulled) to pgsched_client
grant select on pgsched.queues (reason) to pgsched_client
grant select on pgsched.queues (weight) to pgsched_client
grant select on pgsched.queues to pgsched_api
grant select on pgsched.queues to pgsched_reader
grant select on pgsched.rollups to pgsched_api
grant select on pgsched.rollups to pgsched_client
grant select on pgsched.rollups to pgsched_reader
grant select on pgsched.rollups to pgsched_worker
grant select on pgsched.schema_version to pgsched_api
grant select on pgsched.schema_version to pgsched_client
grant select on pgsched.schema_version to pgsched_reader
grant select on pgsched.schema_version to pgsched_worker
grant select on pgsched.sidelined to pgsched_api
grant select on pgsched.sidelined to pgsched_reader
grant select on pgsched.sidelined to pgsched_worker
grant select on pgsched.status to pgsched_api
grant select on pgsched.status to pgsched_client
grant select on pgsched.status to pgsched_reader
grant select on pgsched.status to pgsched_worker
grant select on pgsched.undeliverable to pgsched_api
grant select on pgsched.undeliverable to pgsched_reader
grant select on pgsched.undeliverable to pgsched_worker
grant select on pgsched.workers to pgsched_api
grant select on pgsched.workers to pgsched_reader
grant select on pgsched.workers_id_seq to pgsched_api
grant select on pgsched.workers_id_seq to pgsched_reader
grant select on pgsched_internal.api_keys (burst) to pgsched_api
grant select on pgsched_internal.api_keys (burst) to pgsched_reader
grant select on pgsched_internal.api_keys (burst) to pgsched_worker
grant select on pgsched_internal.api_keys (clients) to pgsched_api
grant select on pgsched_internal.api_keys (clients) to pgsched_reader
grant select on pgsched_internal.api_keys (clients) to pgsched_worker
grant select on pgsched_internal.api_keys (created_at) to pgsched_api
grant select on pgsched_internal.api_keys (created_at) to pgsched_reader
grant select on pgsched_internal.api_keys (created_at) to pgsched_worker
grant select on pgsched_internal.api_keys (expires_at) to pgsched_api
grant select on pgsched_internal.api_keys (expires_at) to pgsched_reader
grant select on pgsched_internal.api_keys (expires_at) to pgsched_worker
grant select on pgsched_internal.api_keys (former_until) to pgsched_api
grant select on pgsched_internal.api_keys (former_until) to pgsched_reader
grant select on pgsched_internal.api_keys (former_until) to pgsched_worker
grant select on pgsched_internal.api_keys (id) to pgsched_api
grant select on pgsched_internal.api_keys (id) to pgsched_reader
grant select on pgsched_internal.api_keys (id) to pgsched_worker
grant select on pgsched_internal.api_keys (last_used_at) to pgsched_api
grant select on pgsched_internal.api_keys (last_used_at) to pgsched_reader
grant select on pgsched_internal.api_keys (last_used_at) to pgsched_worker
grant select on pgsched_internal.api_keys (rate) to pgsched_api
grant select on pgsched_internal.api_keys (rate) to pgsched_reader
grant select on pgsched_internal.api_keys (rate) to pgsched_worker
grant select on pgsched_internal.api_keys (revoked_at) to pgsched_api
grant select on pgsched_internal.api_keys (revoked_at) to pgsched_reader
grant select on pgsched_internal.api_keys (revoked_at) to pgsched_worker
grant select on pgsched_internal.api_keys (scopes) to pgsched_api
grant select on pgsched_internal.api_keys (scopes) to pgsched_reader
grant select on pgsched_internal.api_keys (scopes) to pgsched_worker
grant select on pgsched_internal.api_keys (subject) to pgsched_api
grant select on pgsched_internal.api_keys (subject) to pgsched_reader
grant select on pgsched_internal.api_keys (subject) to pgsched_worker
grant select on pgsched_internal.draining to pgsched_api
grant select on pgsched_internal.draining to pgsched_reader
grant select on pgsched_internal.draining to pgsched_worker
grant select on pgsched_internal.ended to pgsched_api
grant select on pgsched_internal.ended to pgsched_client
grant select on pgsched_internal.ended to pgsched_reader
grant select on pgsched_internal.ended to pgsched_worker
grant select on pgsched_internal.facts to pgsched_api
grant select on pgsched_internal.facts to pgsched_reader
grant select on pgsched_internal.former_workers to pgsched_api
grant select on pgsched_internal.former_workers to pgsched_reader
grant select on pgsched_internal.gate_use to pgsched_reader
grant select on pgsched_internal.gates to pgsched_api
grant select on pgsched_internal.gates to pgsched_reader
grant select on pgsched_internal.kept_dead_letters to pgsched_api
grant select on pgsched_internal.kept_dead_letters to pgsched_client
grant select on pgsched_internal.kept_dead_letters to pgsched_reader
grant select on pgsched_internal.live to pgsched_api
grant select on pgsched_internal.live to pgsched_client
grant select on pgsched_internal.live to pgsched_reader
grant select on pgsched_internal.live to pgsched_worker
grant select on pgsched_internal.secrets to pgsched_worker
grant select on pgsched_internal.signing_secrets to pgsched_worker
grant select, update on pgsched.bulk_operations to pgsched_worker
grant select, update on pgsched.queues to pgsched_worker
grant select, update on pgsched_internal.kept_dead_letters to pgsched_worker
grant select, update on pgsched_internal.locks to pgsched_worker
grant select, update on pgsched_internal.orderings to pgsched_worker
grant select, usage on pgsched.audit_log_id_seq to pgsched_worker
grant select, usage on pgsched.workers_id_seq to pgsched_worker
grant update on pgsched.jobs (paused_at) to pgsched_api
grant update on pgsched.jobs (planned_revision) to pgsched_api
grant update on pgsched.jobs (reason) to pgsched_api
grant update on pgsched.jobs (state) to pgsched_api
grant update on pgsched.jobs (updated_at) to pgsched_api
grant update on pgsched_internal.draining (worker) to pgsched_worker
grant update on pgsched_internal.secrets (sealed) to pgsched_worker
grant update on pgsched_internal.signing_secrets (sealed) to pgsched_worker
grant usage on schema pgsched to pgsched_api
grant usage on schema pgsched to pgsched_client
grant usage on schema pgsched to pgsched_reader
grant usage on schema pgsched to pgsched_worker
grant usage on schema pgsched_internal to pgsched_api
grant usage on schema pgsched_internal to pgsched_client
grant usage on schema pgsched_internal to pgsched_reader
grant usage on schema pgsched_internal to pgsched_worker

-- comments
comment on pgsched.bulk(text,jsonb,double precision,text,timestamp with time zone,interval,boolean,interval,text,text) is 'Starts a bulk operation on everything that a filter names. Workers cancel, reschedule, replay or discard these objects; for a backfill, workers run the instants of a job that have not succeeded. rate is the maximum number a second. The actions pause, resume and cancel_jobs change jobs at once. Returns the id of the row in pgsched.bulk_operations that shows the progress, the number of objects that the filter names, and whether the count was completed within the time limit. The instants of a backfill are counted only by workers. A dry run only counts, and returns no id. Raises PS000, PS001 or PS002 for invalid values, PS010 for an unknown job, PS011 if a hundred operations are active or the job allows no backfill, and PS012 for another client.'
comment on pgsched.cancel(uuid,text,text,text,text) is 'Cancels a job, or a waiting or running execution, named by id or by client and key. If the execution is running, its worker stops the call, and the result does not count. True if the job or execution was cancelled; false if it had already ended. Raises PS010 if there is no such job or execution.'
comment on pgsched.claim(text,text,integer,interval) is 'Hands out due executions of a pulled queue to a consumer, whose name is worker. batch is the maximum number of executions; no more are added once the payloads exceed 16 MiB. Each execution comes with a lease and a token. If an execution is not completed, failed, extended or released (pgsched.complete and so on) before its lease ends, a later claim gets it. A client''s role gets only executions of its own client. Raises PS010 for an unknown queue, and PS011 for a queue that workers serve.'
comment on pgsched.complete(uuid,bigint,jsonb) is 'Reports the success of an execution that was claimed, or deferred by its target, and stores its result. If another transaction has locked its row or its job, the report is stored, and recorded once the lock is free. Raises PS013 if the execution has ended or another consumer now has it, and PS010 if it is unknown.'
comment on pgsched.create_queue(text,jsonb,text) is 'Creates a queue with its own partitions, without blocking other sessions. Returns the number of its first partition. changes may contain the settings of pgsched.set_queue, and pulled, which leaves the queue to consumers permanently (see pgsched.claim). Raises PS000 for an invalid name, and PS011 if a queue with this name exists.'
comment on pgsched.dead_letters is 'Executions that ended as failed and have not expired, with what was done about each of them.'
comment on pgsched.discard(uuid,text,text) is 'Marks a dead letter as discarded; it stays in history. False if it was already discarded. Raises PS010 for an unknown id, and PS011 if the execution has not failed, was replayed or has expired.'
comment on pgsched.drop_client(text,text) is 'Removes all settings of a client, including its signing secrets, and ends its hold. Its jobs and executions stay, and use the defaults. False if the client had no settings. Raises PS011 for the client default and for a client with API keys.'
comment on pgsched.drop_limit(text,text,text) is 'Removes a limit. Executions that it held continue at once. False if there was no such limit.'
comment on pgsched.drop_queue(text,text) is 'Drops an empty queue, with its partitions and its limit. Its history stays. Raises PS010 for an unknown queue, and PS011 for the queue default and for a queue that has jobs, or executions that wait or run.'
comment on pgsched.drop_secret(text,text,text) is 'Deletes a client''s secret; false if there was none. Attempts that still refer to the secret fail and are retried.'
comment on pgsched.drop_signing_secret(text,text) is 'Deletes a client''s current and former signing secrets, so that its callbacks are no longer signed. False if there were none.'
comment on pgsched.edit(uuid,jsonb,text,text,text,text,boolean) is 'Changes the given fields of a job and its waiting row, or of a waiting one-shot, named by id or by client and key. True if anything changed. Running executions continue unchanged. Raises PS010 if there is no such job or execution. Raises PS011 for a cancelled job, for a declared job unless forced, and for an execution that belongs to a job, is running or has ended. If an execution has begun before, only its fire_at can be changed.'
comment on pgsched.extend(uuid,bigint,interval) is 'Extends the lease of an execution that was claimed, or deferred by its target, to this long from now. Returns the end of the lease. If another transaction has locked the row, the lease stays unchanged. Raises PS013 if the execution has ended or another consumer now has it, and PS010 if it is unknown.'
comment on pgsched.fail(uuid,bigint,text,boolean,interval) is 'Reports the failure of an execution that was claimed, or deferred by its target, with the error. Returns what its options decide: retrying, failed or expired. The execution is not retried before retry_after (at most 24 hours) has passed. If another transaction has locked its row or its job, the report is stored, and recorded once the lock is free. Raises PS013 if the execution has ended or another consumer now has it, and PS010 if it is unknown.'
comment on pgsched.minutes is 'For each minute of the last 30 days, by queue and client: how many executions ended, how many attempts were made, and how late the attempts began and how long they took, in seconds. Rows without a client count all clients together.'
comment on pgsched.now() is 'The time that all scheduling uses: the start of the current transaction.'
comment on pgsched.partition_for(text,text,text,text) is 'The partition for a row with this queue and key; a random partition of the queue if the row has neither a key nor an ordering key.'
comment on pgsched.pause(text,text,text,timestamp with time zone,text,text) is 'Pauses a job, a client, a queue, a worker, a target or the whole installation, so that no further executions begin until it is resumed. Running executions continue. False if it was already paused. Raises PS000 for invalid values, PS010 if it does not exist, PS011 for a job that cannot be paused, and PS012 if the session may not do this.'
comment on pgsched.release(uuid,bigint) is 'Hands an execution back as if it had not been claimed. If another transaction has locked its row, it is handed back once the lock is free. If the execution was cancelled in the meantime, the next execution with its ordering key gets its turn. Raises PS013 if the execution has ended or another consumer now has it, PS010 if it is unknown, and PS011 if its target deferred it.'
comment on pgsched.replay(uuid,text,jsonb,jsonb,text,text) is 'Runs a dead letter again as a new execution, and returns the new id. A target, payload or options that are given replace those of the dead letter. Also runs an execution that was skipped because another execution did not succeed, provided that the other has been replayed. A second call returns the same id, unless the new execution has failed, too. Raises PS001 if the target does not fit the queue, and PS010 for an unknown id. Raises PS011 if the execution has not failed, was discarded or has expired, if its queue was dropped, or if its work is under way or has been done since.'
comment on pgsched.resume(text,text,text,text,text) is 'Resumes whatever pgsched.pause has paused, an ordering key that a failure has blocked, a target that is sidelined because it failed, or an invalid job. False if it was not paused.'
comment on pgsched.schedule(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) is 'Schedules one execution (with fire_at or delay; with neither, it fires now) or a recurring job (with cron or every), and returns its id. If a job or a waiting execution already holds the key, it is replaced. If the execution that holds the key is running, or succeeded less than pgsched.key_retention (24 hours) ago, nothing is scheduled, and its id is returned; pgsched.schedule_outcome tells these cases apart. on_conflict changes this: keep leaves a waiting execution or job unchanged, reject raises an error, and debounce moves the waiting execution to the new instant. With after, the execution waits until the executions named there, by id or key, have succeeded; with after_outcome => ''any'', until they have ended.'
comment on pgsched.schedule_outcome(text,jsonb,timestamp with time zone,interval,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text[],text,text,text) is 'Like pgsched.schedule, but also returns the outcome and fire_at. The outcome is one of four: created; replaced, if a waiting execution or a job was replaced; existing, if the holder of the key stays unchanged, because it is running or on_conflict says so; ended, if nothing was scheduled because the execution under the key succeeded less than pgsched.key_retention ago. fire_at is null for a job, and for an execution that is running, waits for others or has ended.'
comment on pgsched.secrets(text) is 'The names of a client''s secrets, with the instants when each was created and last replaced, and the hosts that it may be sent to. Empty if the session does not act for the client.'
comment on pgsched.set_client(text,jsonb,text) is 'Changes the given settings of a client: keep, options (the defaults of its executions), weight, database_role, channels (the channels that it may use), dead_letter_target, dead_letters_for, late_after, and on_time_share (the share of its attempts that should begin within late_after). A null restores the default. True if anything changed, or if the client is new. Raises PS000, PS001 or PS004 for invalid values, and PS012 if the session may not do this.'
comment on pgsched.set_installation(jsonb,text) is 'Changes the given settings of the installation: history_days, audit_days (0 means forever), archive_history, hold_after_restart, hold_after_promotion and hold_after_absence. For the last three, null means never; for the other settings, null restores the default. True if anything changed. Raises PS000 for invalid values.'
comment on pgsched.set_limit(text,text,integer,interval,integer,integer,text) is 'Limits the executions of a client, for a host, in a queue or under a key. rate is the maximum number that begin in each period, burst the number that may begin at once after a lull, and concurrency the maximum number that run at the same time. Replaces any existing limit. True if anything changed. Raises PS000 for invalid values, PS010 for an unknown queue, and PS011 for a queue that consumers pull from.'
comment on pgsched.set_queue(text,jsonb,text) is 'Changes the given settings of a queue: options (the defaults of its executions), weight and max_waiting. A null restores the default. True if anything changed. Raises PS010 for an unknown queue, and PS000 or PS004 for invalid values.'
comment on pgsched.sidelined is 'Target hosts that are sidelined or recovering, for one client or for all clients, with the number of executions that wait for each, counted up to 10,000.'
comment on pgsched.signing_secrets(text) is 'A client''s valid signing secrets, newest first: the last four characters of each and, for former secrets, the instant until which they are valid. Empty if the session does not act for the client.'
comment on pgsched.status is 'All executions, whether waiting, running or ended, with their outcomes.'
comment on pgsched.status_of(uuid,text,text) is 'The row of pgsched.status for an execution, by id or by client and key. A key stands for the execution that holds it now or, if there is none, for the one that ended last under it. Returns no row if the execution is unknown, or if you may not see it. Locks only a few tables, whereas the view locks those of all queues.'
comment on pgsched.stop_bulk(uuid,text) is 'Stops a bulk operation. Anything that it has not reached stays unchanged, and waiting executions that a backfill has planned are cancelled. False if it had already ended. Raises PS010 for an unknown id.'
comment on pgsched.trigger(uuid,text) is 'Runs a job now, in addition to its schedule, even if the job is paused or finished. Returns the id of the execution.'
comment on pgsched.undeliverable is 'The handlers and target classes that no worker had when executions needed them. Shows, for each of them, how many executions wait, counted up to 10,000, and which workers have it now.'
comment on pgsched_internal.account_from_claimed(uuid,integer,uuid[]) is 'Makes the planner continue from the due row that a worker is claiming while the job is being changed.'
comment on pgsched_internal.accounted_to(pgsched.jobs,boolean) is 'The instant up to which a job is accounted for once its planned row has been withdrawn.'
comment on pgsched_internal.acting_role() is 'The role that the session acts as: the role set by SET ROLE or, if none is set, the session''s login.'
comment on pgsched_internal.acts_for(text) is 'True if the session acts for this client: as the client''s own role, as the API on behalf of an API key, or with all rights.'
comment on pgsched_internal.add_to_rollups(pgsched.rollups[]) is 'Adds counts to the rows of their minutes, for a limited number of clients per minute.'
comment on pgsched_internal.adopt_strays(text) is 'Takes the next step towards turning the default partition into the table of the days that it contains. Returns adopted after the last step, and going on after any other. Returns busy if the necessary locks are not free, none if the default partition is empty, and apart if its days cannot (yet) become one table.'
comment on pgsched_internal.advance_bulk(uuid,integer) is 'Changes the next rows of a bulk operation, up to a limit and as its pace allows. Returns how many it changed, whether the next chunk can follow at once, and whether this chunk was the last.'
comment on pgsched_internal.advance_sequences() is 'Advances each sequence to the highest number in its table, because replication sends rows but no sequences. Called by migrations.'
comment on pgsched_internal.any_partition_of(integer) is 'A random partition of the queue with this first partition.'
comment on pgsched_internal.api_acts_for_all() is 'True if this is a session of the API that acts for all clients.'
comment on pgsched_internal.api_administers() is 'True if the API acts for an API key with the scope admin that is valid for all clients.'
comment on pgsched_internal.api_clients() is 'The clients that this session of the API acts for; empty if it acts for all clients, or is not a session of the API.'
comment on pgsched_internal.attach_day(text,date) is 'Attaches the table of a day as a partition, if the necessary locks are free. True if the table is a partition afterwards.'
comment on pgsched_internal.attach_if_free(text,date) is 'Attaches the table of a day as a partition. False if the necessary locks are not free; null if the default partition has rows of that day.'
comment on pgsched_internal.attempts_in(jsonb) is 'The number of attempts that these options allow; null if the options set no limit.'
comment on pgsched_internal.authenticated() is 'The subject that the API has authenticated for this request; null if this is not a session of the API.'
comment on pgsched_internal.backoff(jsonb,integer,double precision) is 'The number of seconds to wait after this attempt has failed. Waits from a list are used unchanged; others are multiplied by a factor from 0.5 to 1, which the random number drawn (0 to 1) decides.'
comment on pgsched_internal.block_key(smallint,text,text,uuid,text) is 'Blocks an ordering key until somebody unblocks it, because an execution with that key has failed for good.'
comment on pgsched_internal.block_while_called(pgsched.executions) is 'Blocks an ordering key until the call of a cancelled execution has ended or its lease has run out.'
comment on pgsched_internal.bound_strays(text,text,date,date) is 'Makes the default partition accept only rows of these days.'
comment on pgsched_internal.bring_along(uuid) is 'Adapts the waiting rows of an edited job without changing their instants; called by follow_edit.'
comment on pgsched_internal.buckets() is 'The upper bounds of the histogram buckets of rollups, in seconds. One more bucket counts everything above the last bound.'
comment on pgsched_internal.bury(smallint,uuid,text) is 'Ends a locked execution as failed and drops its contents. For an execution that cannot even be held.'
comment on pgsched_internal.call_target(text,text,jsonb,text,integer,timestamp with time zone,smallint,uuid,bigint) is 'Calls the function of an sql: target with the payload and records the execution''s success, with the result of the function, in the same transaction. The function can read the settings pgsched.execution_id, pgsched.attempt, pgsched.scheduled_for and pgsched.client.'
comment on pgsched_internal.cancel_backfilled(pgsched.bulk_operations) is 'Cancels the waiting executions that a backfill has planned; running ones continue.'
comment on pgsched_internal.cancel_locked(pgsched.executions,text,text) is 'Cancels a locked execution that is waiting or running; its job continues.'
comment on pgsched_internal.canonical_host(text) is 'The canonical form of a host, in which hosts are compared. Includes the port, unless it is 80 or 443.'
comment on pgsched_internal.capability_of(text) is 'The capability that a worker must declare to deliver a target.'
comment on pgsched_internal.carry_on(uuid,timestamp with time zone) is 'Has a worker plan the next row of a job after its planned row was cancelled.'
comment on pgsched_internal.catalogue() is 'A digest of each table, column, index, function and other object of pgsched, by its kind and name.'
comment on pgsched_internal.change_chunk(pgsched.bulk_operations,integer,integer) is 'Changes the next rows of a bulk operation. Returns the operation with its new position, the outcome of each row, and the number of rows read.'
comment on pgsched_internal.change_execution(pgsched.bulk_operations,uuid,smallint) is 'Cancels or reschedules one execution of a bulk operation. Returns done, skipped if the filter no longer names the execution, or locked if another transaction has locked it.'
comment on pgsched_internal.change_jobs(text,jsonb,text[],text,text) is 'Pauses, resumes or cancels the jobs that a filter names. Returns how many it changed.'
comment on pgsched_internal.change_letter(pgsched.bulk_operations,uuid,timestamp with time zone) is 'Replays or discards one dead letter of a bulk operation. Returns done, skipped if it has already been dealt with, or locked if another transaction has locked it.'
comment on pgsched_internal.change_or_come_back(pgsched.bulk_operations,uuid,timestamp with time zone,smallint,boolean) is 'Changes one row of a bulk operation, or records a locked row so that it is tried again later. Returns done, skipped, failed, locked, or full if the row''s queue is full. again is true if the row was recorded before.'
comment on pgsched_internal.changed() is 'Records the change of a row in the audit log. The trigger''s arguments are the kind, the column that contains the name, and, if there is one, the column that contains the subject.'
comment on pgsched_internal.check_acts_for(text) is 'True if the session acts for this client; raises PS012 otherwise.'
comment on pgsched_internal.check_administers() is 'True if the session may administer; raises PS012 if the API acts for an API key that may not.'
comment on pgsched_internal.check_after(text[],text,text,text) is 'True if the arguments that make an execution wait for others are valid; raises PS000 or PS002 with a hint otherwise.'
comment on pgsched_internal.check_after_rule(jsonb) is 'True for a valid value of the rule "after"; raises PS002 with a hint otherwise.'
comment on pgsched_internal.check_auth(jsonb) is 'True for a valid auth option, which says how to get a token for the target; raises PS004 with a hint otherwise.'
comment on pgsched_internal.check_backfill(jsonb,boolean) is 'The client of a job; raises PS002, PS010 or PS011 if these instants of the job cannot be backfilled. If locks is true, also locks the job.'
comment on pgsched_internal.check_backoff(jsonb) is 'True for a valid backoff option; raises PS004 with a hint otherwise.'
comment on pgsched_internal.check_body(jsonb,jsonb) is 'True if a payload can be encoded as the body option says; raises PS003 with a hint otherwise.'
comment on pgsched_internal.check_body_option(jsonb) is 'True for a valid body option, which says how a payload is encoded; raises PS004 with a hint otherwise.'
comment on pgsched_internal.check_bulk(text,jsonb,double precision,text,timestamp with time zone,interval) is 'True for a valid request for a bulk operation; raises PS000, PS001 or PS002 with a hint otherwise.'
comment on pgsched_internal.check_bulk_filter(text,jsonb) is 'True if a filter is valid for this action; raises PS000 or PS002 with a hint otherwise.'
comment on pgsched_internal.check_changes(jsonb) is 'True for changes that pgsched.edit can apply to a job; raises PS000 or PS002 with a hint otherwise.'
comment on pgsched_internal.check_channel(text,text) is 'True if a client may use a target; raises PS012 otherwise.'
comment on pgsched_internal.check_channels(jsonb) is 'True for a valid list of channels; raises PS000 with a hint otherwise.'
comment on pgsched_internal.check_claim(text,text,integer,interval) is 'The first partition of the queue, if a claim with these arguments is valid; raises PS000, PS010 or PS011 otherwise.'
comment on pgsched_internal.check_client_changes(jsonb) is 'True for changes that pgsched.set_client can apply; raises PS000, PS001, PS004 or PS012 with a hint otherwise.'
comment on pgsched_internal.check_cron(text) is 'True for a valid cron expression; raises PS002 with a hint otherwise.'
comment on pgsched_internal.check_defaults(jsonb) is 'True for options that can be defaults of a client or a queue; raises PS004 with a hint otherwise.'
comment on pgsched_internal.check_delivery(jsonb) is 'True for valid delivery options, such as method, deadline and priority; raises PS004 with a hint otherwise.'
comment on pgsched_internal.check_ended(uuid,text) is 'True if the outcome of an ended execution lets its dependents fire; raises PS011 otherwise.'
comment on pgsched_internal.check_exclusion(jsonb) is 'True for a valid exclusion: a date, a range of dates or instants, or a cron expression. Raises PS002 with a hint otherwise.'
comment on pgsched_internal.check_execution_changes(jsonb) is 'True for changes that pgsched.edit can apply to an execution; raises PS000 or PS002 with a hint otherwise.'
comment on pgsched_internal.check_filter_members(jsonb,text,text[]) is 'True if a filter has only these members, at least one of them besides status, and each of the right type; raises PS000 or PS002 with a hint otherwise.'
comment on pgsched_internal.check_headers(jsonb) is 'True if a request can carry these headers; raises PS004 with a hint otherwise.'
comment on pgsched_internal.check_instant(timestamp with time zone) is 'True for an instant that all callers and workers can represent; raises PS002 for any other, including infinity.'
comment on pgsched_internal.check_key(text,text[],text[],timestamp with time zone) is 'True for valid properties of an API key; raises PS000 with a hint otherwise.'
comment on pgsched_internal.check_key_rate(integer,integer) is 'True for a valid limit on the requests of an API key; raises PS000 with a hint otherwise.'
comment on pgsched_internal.check_labels(jsonb) is 'True for valid labels, an object of strings; raises PS000 with a hint otherwise.'
comment on pgsched_internal.check_lease(interval) is 'True for a valid lease length; raises PS000 otherwise.'
comment on pgsched_internal.check_length(jsonb,text,integer) is 'True if a value is at most the given number of bytes long as text; raises PS000 otherwise.'
comment on pgsched_internal.check_limit(integer,interval,integer,integer) is 'True for valid values of a limit; raises PS000 with a hint otherwise.'
comment on pgsched_internal.check_lists(jsonb) is 'True for valid additional schedules and excluded times of a job; raises PS002 with a hint otherwise.'
comment on pgsched_internal.check_may_pause(text,text,text) is 'True if the session may pause and resume what the arguments name; raises PS000 or PS012 otherwise.'
comment on pgsched_internal.check_may_set(text) is 'True if the session may change a client''s settings; raises PS000 or PS012 otherwise.'
comment on pgsched_internal.check_may_sideline(text) is 'True if the session may sideline a host for this client, or for all clients (null); raises PS000 or PS012 otherwise.'
comment on pgsched_internal.check_members(jsonb,text[]) is 'True for valid changes to the settings of a client, a queue or the installation; raises PS000, PS001 or PS004 otherwise.'
comment on pgsched_internal.check_named(uuid,text,text) is 'True if the arguments name one job or execution, by id or by client and key; raises PS000 otherwise.'
comment on pgsched_internal.check_no_circle(uuid,uuid) is 'True if a new dependency would not make an execution wait for itself, directly or through others; raises PS011 otherwise.'
comment on pgsched_internal.check_on_conflict(text,text,boolean) is 'True if on_conflict is valid here; raises PS000 with a hint otherwise.'
comment on pgsched_internal.check_options(jsonb) is 'True for valid options of an execution; raises PS004 with a hint otherwise.'
comment on pgsched_internal.check_partition(smallint,text,text,text) is 'True if a row with this key or ordering key belongs in this partition; raises PS000 with a hint otherwise.'
comment on pgsched_internal.check_pause(text,text,text) is 'True if the arguments name an object that can be paused or resumed; raises PS000 otherwise.'
comment on pgsched_internal.check_payload(jsonb) is 'True for a payload of at most 1 MiB as text and 100 levels, whose numbers are at most 1.797e308 and have at most 10,000 digits; raises PS003 otherwise.'
comment on pgsched_internal.check_pulled(text,text) is 'True if a target fits a queue: targets that begin with queue: need a pulled queue, and all others a queue that workers serve. Raises PS001 otherwise.'
comment on pgsched_internal.check_request(text,text,timestamp with time zone,interval,text,interval,text,text,text,jsonb,text,text,text,text[],text,timestamp with time zone) is 'Raises PS000, PS001 or PS002 with a hint if the arguments of a request do not fit together. pgsched.schedule_outcome skips this check for simple requests.'
comment on pgsched_internal.check_result(jsonb,text) is 'True for a result within the limits of a payload; raises PS003 otherwise.'
comment on pgsched_internal.check_retries(jsonb) is 'True for valid retry options; raises PS004 with a hint otherwise.'
comment on pgsched_internal.check_rules(jsonb) is 'True for valid recurrence rules; raises PS002 with a hint otherwise.'
comment on pgsched_internal.check_said(text,text) is 'True if a note and an actor are valid for the audit log; raises PS000 otherwise.'
comment on pgsched_internal.check_same_server(bigint) is 'Records that a worker is on this server now, or holds the installation if the server does not match the earlier record. Returns the reason why the installation is held, or null, and the number of renewals of the record. A worker that was connected before passes the number of renewals that it last saw.'
comment on pgsched_internal.check_setting(text,jsonb) is 'True if a value is valid for this setting of a client, a queue or the installation (null is valid); raises PS000 otherwise.'
comment on pgsched_internal.check_spec(jsonb) is 'True for a valid additional schedule of a job; raises PS002 with a hint otherwise.'
comment on pgsched_internal.check_target(text) is 'True for a target that pgsched can call; raises PS001 with a hint otherwise.'
comment on pgsched_internal.check_told(jsonb,text) is 'True if the option with this name is a valid target to notify of the outcome, or is not set; raises PS004 or PS001 with a hint otherwise.'
comment on pgsched_internal.check_until(text,timestamp with time zone) is 'True if an object of this kind can be paused until the given instant; raises PS000 otherwise.'
comment on pgsched_internal.check_zone(text) is 'True for an IANA time zone that the server knows; raises PS002 otherwise.'
comment on pgsched_internal.circle_refused() is 'Rejects a job that would follow itself, directly or through other jobs.'
comment on pgsched_internal.circuit_of(text,text) is 'The gate between a client (or all clients) and a target host or a path of that host; raises PS000 for an invalid name.'
comment on pgsched_internal.client_of(text,jsonb) is 'The client that a row of this kind belongs to; null if the row does not belong to exactly one client.'
comment on pgsched_internal.clients_acted_for() is 'The clients that the session acts for; null if it has all rights, or acts for all clients.'
comment on pgsched_internal.count_dead_letters(jsonb,text[],timestamp with time zone) is 'The number of open dead letters that a filter names, and whether all were counted before the given time.'
comment on pgsched_internal.count_executions(jsonb,text[],timestamp with time zone) is 'The number of live executions that a filter names, and whether all were counted before the given time.'
comment on pgsched_internal.count_later(text,smallint,pgsched.execution_status,bigint,smallint) is 'Notes ends with this status for the rollups, or attempts if the status is null.'
comment on pgsched_internal.count_live(text,bigint,boolean) is 'The number of live executions of a queue that the role may see, counted up to a limit. If waiting is true, counts only waiting executions.'
comment on pgsched_internal.count_named(text,jsonb,text[],interval) is 'The number of objects that an action would change with this filter, and whether all were counted within the time limit.'
comment on pgsched_internal.count_outcome(uuid,pgsched.execution_status) is 'Counts the consecutive failures of a job with the rule pause_after, and pauses the job when it has failed that often. Called whenever a run of such a job is settled.'
comment on pgsched_internal.create_key(text,bytea,text,text[],text[],timestamp with time zone,text,integer,integer) is 'Creates an API key from the hash of its secret. Raises PS000 for invalid values, and PS012 if the session may not do this.'
comment on pgsched_internal.crowding(integer,timestamp with time zone[],timestamp with time zone[]) is 'The number of the partition''s rows in each of these time spans, counted up to 1,000.'
comment on pgsched_internal.day_column(text) is 'The column by which a table is partitioned into days.'
comment on pgsched_internal.day_table(text,date) is 'The name of a table''s partition for a day.'
comment on pgsched_internal.days_followed() is 'Creates the tables of days that were created on the publisher.'
comment on pgsched_internal.days_of(text) is 'The day partitions of a table, each with its first and its last day.'
comment on pgsched_internal.days_to_archive() is 'The days of history and attempts that have exceeded the installation''s retention and have not been archived.'
comment on pgsched_internal.days_to_drop(integer) is 'The names of the day tables to drop. Tables of history and attempts must be older than the given number of days and not need archiving first; tables of rollups must be older than rollup_days().'
comment on pgsched_internal.days_to_make(integer) is 'Of today and the given number of days ahead, those for which history, attempts or rollups have no partition yet.'
comment on pgsched_internal.decide(text,text,boolean,double precision,integer,double precision,jsonb,text,smallint,integer,double precision) is 'Decides what happens to an execution by the outcome of its attempt: failed; postponed, by the target; late, if it was too late to begin; or the status of a final end. age is the number of seconds since the execution''s instant. Returns the new status, the number of seconds until the next attempt (null if the execution ends), and the reason.'
comment on pgsched_internal.decide_failure(pgsched.executions,text,boolean,interval,boolean) is 'Decides what happens to an execution after a failed attempt, according to its options.'
comment on pgsched_internal.default_attempts() is 'The default number of attempts.'
comment on pgsched_internal.dependents_of(uuid[],uuid,integer) is 'The first executions that wait for these ends, up to a limit, and the index of the last end that was checked. For the first end, only executions with ids after behind are returned.'
comment on pgsched_internal.detail_of(text) is 'A note as the audit log stores it; null if there is no note.'
comment on pgsched_internal.digits_in(jsonb) is 'A lower bound on the length of a value''s numbers as text, at most four characters too low per number.'
comment on pgsched_internal.drop_day(text) is 'Drops the table of a day. False if the necessary locks are not free; null if the table still has open dead letters.'
comment on pgsched_internal.drop_partitions(pgsched.queues) is 'Drops the tables of an empty queue. Raises PS011 if executions have just been added to it.'
comment on pgsched_internal.dropped_day_followed() is 'Drops the tables of days that were dropped on the publisher, up to the given day.'
comment on pgsched_internal.dropped_queue_followed() is 'Drops the tables of a queue that was dropped on the publisher.'
comment on pgsched_internal.due_among(smallint,text,integer,text[],text[],uuid[],timestamp with time zone,integer,bigint) is 'Locks due rows in given places of a partition, up to a limit. Called by due_in.'
comment on pgsched_internal.due_in(smallint,integer,text[],text[],uuid[]) is 'Locks due rows of a partition, up to a limit. If there is nothing to hand out, leaves no lock on the partition.'
comment on pgsched_internal.due_to_pull(smallint,integer,integer,text[],text[],uuid[]) is 'Locks due rows of a queue, up to a limit in total and up to a share from each partition. Called by pgsched.claim.'
comment on pgsched_internal.edit_execution(uuid,jsonb,text,text) is 'Changes the target, payload, options, labels or instant of a waiting one-shot. Called by pgsched.edit.'
comment on pgsched_internal.edit_job(uuid,jsonb,text,text,boolean) is 'Changes the given fields of a job, and its waiting row. Running executions continue unchanged. An invalid job becomes active, and so does a finished job if its schedule was changed. Called by pgsched.edit.'
comment on pgsched_internal.edited(pgsched.jobs,jsonb) is 'The job as it would be after pgsched.edit. Writes nothing.'
comment on pgsched_internal.edited_execution(pgsched.executions,jsonb) is 'An execution as it would be after pgsched.edit. Writes nothing.'
comment on pgsched_internal.end_execution(pgsched.executions,pgsched.execution_status,text,timestamp with time zone,bigint,smallint,jsonb,boolean,boolean,timestamp with time zone,double precision) is 'Ends an execution whose row the caller has deleted: writes it to history, unless its client does not keep such ends, and does what follows from the end. Returns the status. For a run of a job, last_scheduled_for and instants describe the further instants that the end covers. begun is false if a claim counted an attempt that never began. lets_next says whether to give the next execution of the ordering key its turn. began_at and seconds are the last attempt''s times, if they are known.'
comment on pgsched_internal.end_if_late(smallint,uuid) is 'Ends an execution that a gate holds, if its time is over. True if the execution was ended, and false if another transaction has locked a row that the end needs. Null if its time is not over, or if it could not be ended and was held because of an error.'
comment on pgsched_internal.end_in_hand(pgsched.executions,pgsched.execution_status,jsonb,text,boolean,boolean) is 'Moves a locked execution to history and does what follows from its end, as a worker''s settle does. tried is false if its last attempt did not take place. Returns false, and changes nothing, if another row that the end writes is locked; if waits is true, first waits a moment for the lock.'
comment on pgsched_internal.end_overdue(integer) is 'Ends executions that a gate has held beyond their relevant_for or deadline, up to a limit. Returns how many it ended.'
comment on pgsched_internal.ended is 'Ended executions, as the status views show them.'
comment on pgsched_internal.ended_under(pgsched_internal.keys,text,text,text,smallint) is 'The result of scheduling if the key still belongs to an execution that succeeded within the retention time; null if there is no such execution. Raises PS011 if there is one and on_conflict is reject.'
comment on pgsched_internal.executions_inserted() is 'Raises PS014 if one-shots were inserted into a full queue. Notifies the workers of inserted rows that are due within two seconds.'
comment on pgsched_internal.expire_dead_letters(integer) is 'Deletes expired dead letters whose day of history has been dropped, up to a limit. Returns how many it deleted.'
comment on pgsched_internal.fail_in_hand(pgsched.executions,text,boolean,interval,boolean,boolean) is 'Records a failed attempt of a locked execution, which then waits for its next attempt or ends, as its options say. Returns null, and changes nothing, if another row that its end writes is locked; if waits is true, first waits a moment for the lock.'
comment on pgsched_internal.fault_of_json(jsonb) is 'Why a value cannot be a payload or result: its size, its depth, or the size of a number. Null if it can.'
comment on pgsched_internal.fault_of_values(jsonb) is 'The first problem found in the rules that have a single value, and what to write instead; nulls if there is none.'
comment on pgsched_internal.find_execution(text,text) is 'The id of a client''s execution, given its id or key: the live execution or, if there is none, the last that ended. Raises PS010 if there is none, and PS011 for a job.'
comment on pgsched_internal.fire_dependents(uuid[]) is 'Of these held executions, releases those that no longer wait for anything. Returns their ids.'
comment on pgsched_internal.first_in_history(text,timestamp with time zone,uuid,text,text,timestamp with time zone,boolean) is 'The first row of history that meets a condition, or null. In the condition, $3 to $6 are the id, client, key and instant. If onward is true, only weeks after since are searched. Holds no lock afterwards.'
comment on pgsched_internal.first_partition_of(integer) is 'The first partition of the queue to which a partition belongs.'
comment on pgsched_internal.follow_change(pgsched.executions,pgsched.jobs) is 'Adapts a claimed run that has not begun to a change of its job: the run waits again, ends, or is left to the next plan.'
comment on pgsched_internal.follow_edit(pgsched.jobs,pgsched.jobs,text,boolean,boolean) is 'Adapts the waiting rows of a job after its definition was edited or replaced. The rows keep their instants, unless the schedule or the partition of the job has changed.'
comment on pgsched_internal.follow_end(pgsched.executions,pgsched.execution_status,text,smallint,jsonb,boolean) is 'Does what follows from the end of an execution: reports the outcome to a target, counts it for the job, has the dependents released, and blocks the ordering key or gives its next execution a turn.'
comment on pgsched_internal.follow_move(pgsched.executions,timestamp with time zone) is 'Does what follows when a waiting execution is moved to another instant: the execution no longer waits for others and, if it has never begun, others with its ordering key may go first. Notifies workers.'
comment on pgsched_internal.follow_replaced(pgsched.jobs,pgsched.jobs) is 'Adapts a job''s waiting row after the job''s definition was replaced.'
comment on pgsched_internal.follow_unbegun(pgsched.jobs,text) is 'Adapts runs of a changed job that were handed back or held before they began: each runs with the new definition, or ends.'
comment on pgsched_internal.forget_dependencies(uuid) is 'Removes the dependencies of an execution that is no longer held.'
comment on pgsched_internal.gate_of(text,text) is 'The name of a limit''s gate, such as client:payments; raises PS000 for an invalid kind or name.'
comment on pgsched_internal.give_key(text,text,uuid,smallint) is 'Assigns a locked key to this execution or job.'
comment on pgsched_internal.grant_execute(text[],regrole) is 'Grants a role the right to execute all functions with these names; called by migrations.'
comment on pgsched_internal.hand_back(pgsched.executions) is 'Makes a locked execution wait again, as if it had not been claimed.'
comment on pgsched_internal.has_ended(uuid) is 'True if history has this execution and the session acts for its client.'
comment on pgsched_internal.has_keys() is 'True if there is or was an API key.'
comment on pgsched_internal.has_no_such_day(text) is 'True if a cron expression names only days that none of its months has, such as February 30.'
comment on pgsched_internal.has_target() is 'True if the server was started to recover to a target, such as a point in time.'
comment on pgsched_internal.held(jsonb,text,timestamp with time zone) is 'The waits of an execution that this gate begins to hold at this instant. If the same gate released it in this transaction, that wait continues.'
comment on pgsched_internal.held_until(pgsched.executions) is 'The instant at which an execution that is about to be held by a gate will end, according to its options and the defaults of its client and queue; null if these set no limit.'
comment on pgsched_internal.histogram_of(smallint[],bigint[]) is 'The histogram with these counts in these buckets, numbered from 0; null if there are none.'
comment on pgsched_internal.hold_for(smallint,uuid,jsonb,timestamp with time zone) is 'Makes an execution of the caller wait until each of the others has the required outcome. If all of them already have that outcome, the execution fires at the given instant. Returns true if the execution waits.'
comment on pgsched_internal.hold_withdrawn(pgsched.executions,text) is 'Holds a planned row, whose job was changed after the row''s instant had come, until the job is planned again.'
comment on pgsched_internal.homes_of(uuid) is 'The partitions that may contain rows of a job.'
comment on pgsched_internal.in_history(uuid) is 'The row of an execution in history, or null. Holds no lock afterwards.'
comment on pgsched_internal.in_partition(smallint,text) is 'The text of a statement on the rows of a partition, from the table''s name to "where"; for an update, including its set clause. The caller appends the conditions.'
comment on pgsched_internal.insert_waiting(uuid,timestamp with time zone,text,text,jsonb,jsonb,text,text,smallint,jsonb) is 'Inserts an execution and wakes a worker for it; called by pgsched.schedule_outcome. Raises PS014 if its queue is full.'
comment on pgsched_internal.is_a_lock(text) is 'True if an SQLSTATE means a conflict with another transaction, so that a retry a moment later may succeed.'
comment on pgsched_internal.is_ahead(pgsched.executions) is 'True if a worker has claimed an execution so far ahead of its instant that the worker can still be notified before the execution begins.'
comment on pgsched_internal.is_api() is 'True if the session acts as a role of the API that does not have all rights.'
comment on pgsched_internal.is_blocked(smallint,text,text,boolean) is 'True if an ordering key waits for somebody to unblock it, or for the call of a cancelled execution to end.'
comment on pgsched_internal.is_current(bigint) is 'True if this announcement has not expired.'
comment on pgsched_internal.is_day(text) is 'True for text that is a date, such as 2026-12-25.'
comment on pgsched_internal.is_duration(jsonb,interval,interval) is 'True if a JSON value is a duration within these bounds, such as "PT5S" or "1h30m".'
comment on pgsched_internal.is_elsewhere() is 'True if this is not the server, database or timeline that workers last recorded, unless a standby has taken over.'
comment on pgsched_internal.is_instant(jsonb) is 'True for JSON text that is an instant, such as "2026-03-01T09:00:00+01:00".'
comment on pgsched_internal.is_kept(text,timestamp with time zone) is 'True if a dead letter of this client that failed at this time has not yet expired.'
comment on pgsched_internal.is_live(pgsched_internal.keys) is 'True if the holder of a key is live: a job that is not cancelled, or a waiting or running execution.'
comment on pgsched_internal.is_living(pgsched.workers) is 'True if a worker is alive, as its lease and its sessions show.'
comment on pgsched_internal.is_lost(pgsched.executions) is 'True if the expired lease of a locked execution is already in doubt. If not, puts the lease in doubt, and returns false.'
comment on pgsched_internal.is_named(pgsched.executions,jsonb,text[]) is 'True if a filter names this live execution and it belongs to one of these clients. The queue is not checked, because it determines which partitions are read.'
comment on pgsched_internal.is_of_a_row(text) is 'True if an SQLSTATE belongs to a class of errors that a single row can cause.'
comment on pgsched_internal.is_of_key(smallint,uuid,text,text) is 'True if an execution has this ordering key and has not ended.'
comment on pgsched_internal.is_only_form(text) is 'True if a host (without a port) is a name, or an address in the form in which PostgreSQL writes it.'
comment on pgsched_internal.is_privileged(name) is 'True if a role does not exist, or has more privileges than a client should have.'
comment on pgsched_internal.is_secret_ref(jsonb) is 'True for a reference to a secret, such as {"secret": "shop-token", "prefix": "Bearer "}.'
comment on pgsched_internal.is_watched(integer) is 'True if a worker polls all partitions of a queue, so that no notification is needed.'
comment on pgsched_internal.is_whole(jsonb,bigint,bigint) is 'True if a JSON value is a whole number within these bounds.'
comment on pgsched_internal.job_checked() is 'Rejects a job if its client may not use its target, or if its payload cannot be encoded as its body option says.'
comment on pgsched_internal.job_keys_inserted() is 'Assigns the keys of inserted jobs. Raises PS011 if another live execution or job holds one of them.'
comment on pgsched_internal.job_named(text,text) is 'The id of the job with this name: an id or, if a client is given, a key. Raises PS010 if there is no such job.'
comment on pgsched_internal.job_under(text,text,text) is 'The id of the job that holds a key, or null; locks nothing. Raises PS011 if there is such a job and on_conflict is reject.'
comment on pgsched_internal.jobs_named(text,jsonb,text[]) is 'The jobs of these clients that a filter names and whose state allows this action.'
comment on pgsched_internal.keep_dead_letters(integer,integer) is 'Moves open dead letters, up to a limit, out of the days of history that are to be dropped. Returns how many it moved.'
comment on pgsched_internal.kept_under(text,text,text) is 'The result of scheduling if a live execution holds the key and stays unchanged; null if there is no such execution. Locks no row. Raises PS011 if there is one and on_conflict is reject.'
comment on pgsched_internal.key_retention() is 'How long an execution keeps its key after it has succeeded: the setting pgsched.key_retention.'
comment on pgsched_internal.keys_inserted() is 'Assigns the keys of inserted executions. Raises PS011 if another live execution or job holds one of them.'
comment on pgsched_internal.laid_over(jsonb,jsonb) is 'These options, completed with the defaults that they do not override.'
comment on pgsched_internal.last_replay(uuid) is 'The last replay in an execution''s chain of replays; the execution itself if it was not replayed.'
comment on pgsched_internal.last_under(text,text) is 'The id of the execution that most recently ended under a key, however long ago; null if history has none.'
comment on pgsched_internal.lateness(jsonb,integer,double precision) is 'The status and the reason with which an execution ends because it is too late for the attempt with this number; nulls if the attempt may start. age is the number of seconds since the execution''s instant.'
comment on pgsched_internal.lease_in(pgsched_internal.consumer,smallint,uuid[]) is 'Of these executions of a partition, leases those that the consumer may have. Returns them in the form in which they are handed out.'
comment on pgsched_internal.lease_to(pgsched_internal.consumer,smallint[],uuid[]) is 'Of these locked executions, leases those that the consumer may have. Returns the executions to hand out, and those to skip because they could not be processed.'
comment on pgsched_internal.leave_watch(integer,integer) is 'Withdraws a worker''s announcement that it polls a queue.'
comment on pgsched_internal.left_as_it_is(pgsched_internal.keys,pgsched.executions,text) is 'The result of scheduling when the holder of the key stays unchanged. Raises PS011 if on_conflict is reject.'
comment on pgsched_internal.length_of(text) is 'The interval for a duration such as PT5S or 1h30m.'
comment on pgsched_internal.let_next(smallint,text,text,boolean) is 'Lets the first execution of an ordering key fire if the key has no head and is not blocked, and that execution is held behind another. Returns the instant at which the execution fires, or null if it does not.'
comment on pgsched_internal.live is 'Waiting and running executions, as the status views show them.'
comment on pgsched_internal.live_execution(smallint,uuid) is 'The waiting or running execution with this id in a partition, or null. Locks no row.'
comment on pgsched_internal.lock_dead_letter(uuid,boolean) is 'Locks a dead letter that has not expired, if the session acts for its client. If or_dependent is true, also accepts an execution that was skipped because another execution did not succeed. Raises PS010 or PS011 otherwise.'
comment on pgsched_internal.lock_editable(uuid,jsonb) is 'Locks and returns a one-shot to which these changes can be made, if the session acts for its client. Raises PS010 if there is no such one-shot, and PS011 if it is running, has ended or belongs to a job. Also raises PS011 if it has begun before, unless the changes only move it to another instant.'
comment on pgsched_internal.lock_execution(uuid) is 'The live execution with this id, if the session acts for its client; locked if it is waiting. Null if it is unknown, has ended, or belongs to another client.'
comment on pgsched_internal.lock_job(uuid) is 'Locks and returns a job, if the session acts for its client. Raises PS010 if the job is unknown or belongs to another client.'
comment on pgsched_internal.lock_key(text,text,uuid,smallint) is 'Locks a key until the transaction ends, and returns its holder. If the key was new, assigns it to this id and returns null.'
comment on pgsched_internal.lock_key_of_api(text) is 'Locks and returns an API key. Raises PS010 if the key is unknown, and PS012 if the session may not change keys.'
comment on pgsched_internal.lock_live(smallint,uuid) is 'The live execution with this id in a partition, locked if it is waiting, but not if it is running. Null if it has ended.'
comment on pgsched_internal.lock_named(text,text,boolean) is 'Locks a key and returns the id of its holder, if the session acts for the client. Raises PS010 if nothing has ever held the key. If live_only is true, returns null for a holder that has ended, however long ago.'
comment on pgsched_internal.lock_queue(text) is 'Locks and returns the queue with this name; raises PS010 if there is none.'
comment on pgsched_internal.lock_waiting(smallint,uuid) is 'Locks and returns a waiting execution, after waiting for any transaction that has locked it. Returns null, and locks nothing, if the execution is running or has ended.'
comment on pgsched_internal.log_change(text,text,uuid,jsonb,jsonb,text) is 'Records the difference between two versions of a row in the audit log. All changes that one transaction makes to a row share one entry.'
comment on pgsched_internal.look_through_dead_letters(jsonb,text[],uuid,timestamp with time zone,integer) is 'The next open dead letters after an id, each with a flag for whether a filter names it.'
comment on pgsched_internal.look_up_keys(text[]) is 'The API keys with these ids. Each has the hashes of its current and former secrets, and the number of seconds for which each secret is still valid.'
comment on pgsched_internal.lose_in_hand(pgsched.executions) is 'Handles an execution whose lease has run out. Returns false, and changes nothing, if another row that its end writes is locked.'
comment on pgsched_internal.make_day(text,date) is 'Creates the table of a day, without attaching it as a partition. False if another worker is creating or dropping days.'
comment on pgsched_internal.make_partition(integer,boolean) is 'Creates a partition of pgsched.executions.'
comment on pgsched_internal.mark_archived(date,text) is 'Records that a day of history and attempts has been archived, so that the day may be dropped. False if this was recorded before. Raises PS002 for a day that is not over.'
comment on pgsched_internal.mark_awaited(uuid,uuid,text) is 'Makes sure that a client''s execution will report its end to its dependents; false if the execution has already ended.'
comment on pgsched_internal.mark_dead_letter(pgsched.history,uuid,text) is 'Records on a locked dead letter what was done about it and by whom, and unblocks the ordering key that it blocked.'
comment on pgsched_internal.mark_ends(integer) is 'Marks executions as awaited, up to a limit, if they were running when their dependents were scheduled. If an execution has ended, marks its row in history.'
comment on pgsched_internal.may_adopt(text,date,date) is 'True if no day in this span has a table, and today and tomorrow each have a table or are in this span.'
comment on pgsched_internal.may_be_handed_out(smallint,uuid) is 'True if a consumer may have this locked due execution. If false, the execution has ended, waits or is held.'
comment on pgsched_internal.may_do_everything() is 'True if the session acts as a worker''s role or as the owner.'
comment on pgsched_internal.may_go(date) is 'True if a day of history may be dropped: it has been archived, or does not have to be.'
comment on pgsched_internal.may_see(text) is 'True if the session may read rows of this client.'
comment on pgsched_internal.may_still_run(pgsched.executions,pgsched.jobs,boolean) is 'True if the instant of a planned row has come and its run may still begin, although its job was edited or paused.'
comment on pgsched_internal.move_to(pgsched.executions,timestamp with time zone) is 'Moves a locked waiting execution to another instant.'
comment on pgsched_internal.moves_instants(pgsched.jobs,pgsched.jobs) is 'True if an edit changes when the job fires.'
comment on pgsched_internal.my_clients() is 'The clients whose rows the current role may see and change.'
comment on pgsched_internal.new_id() is 'A new version 7 UUID (RFC 9562). Ids sort by the microsecond of creation.'
comment on pgsched_internal.new_id_in(smallint) is 'A new id, like those of pgsched_internal.new_id(), that also carries the partition of its row.'
comment on pgsched_internal.new_token(smallint) is 'A token that cannot be guessed, for the lease of an execution in this partition.'
comment on pgsched_internal.next_of_many(pgsched.bulk_operations) is 'The text of the query for the rows that a bulk operation processes next, each with a flag for whether the filter names the row.'
comment on pgsched_internal.next_partition(jsonb,smallint) is 'The first partition that may contain objects that a filter names or, if a partition is given, the next such partition after it; null if there is none.'
comment on pgsched_internal.next_queue_number() is 'The number for the next queue.'
comment on pgsched_internal.not_empty(smallint[],text[]) is 'Of these partitions, those that have a due row.'
comment on pgsched_internal.not_found_at_once(uuid[]) is 'Of these awaited executions, those that are neither live nor have an end in history that must still be recorded.'
comment on pgsched_internal.note_ends(uuid[],pgsched.execution_status[],timestamp with time zone[],text[],uuid[]) is 'Records these ends for the given executions that wait for them. Returns how many executions were released or skipped.'
comment on pgsched_internal.note_ends_with(uuid[],pgsched.execution_status[],timestamp with time zone[],text[],uuid[]) is 'Like note_ends, but if a dependent causes an error, holds that dependent with the reason and processes the others.'
comment on pgsched_internal.note_key_use(text) is 'Records that an API key was used, at most once a minute; waits for no lock.'
comment on pgsched_internal.note_move(pgsched.jobs) is 'Records the current partition of a job, before an edit moves the job''s rows to another partition.'
comment on pgsched_internal.note_result(text,pgsched.executions,bigint,jsonb,text,boolean,interval) is 'Stores the result of an execution that another transaction has locked. Raises PS013 if a result was already stored.'
comment on pgsched_internal.note_server(pgsched_internal.fleet,bigint) is 'Records the server that workers are on now, and adds to the number of renewals. After an operator has accepted a past state, adds enough to exceed any number that a worker has seen.'
comment on pgsched_internal.notify_unless_silent(text) is 'Like notify_workers, but does nothing in a session that has turned notifications off.'
comment on pgsched_internal.notify_wake(smallint,timestamp with time zone) is 'Notifies the workers if a new row in a partition is due within two seconds.'
comment on pgsched_internal.notify_workers(text) is 'Sends the workers a message: for example, that a partition has a due row, or that they should plan. Does nothing while the notification queue is at least half full.'
comment on pgsched_internal.numbers_in(jsonb) is 'All numbers in a value, at any depth.'
comment on pgsched_internal.open_gate(text,boolean) is 'Reopens a shut gate, at once or gradually; its limits apply again. False if it was not shut.'
comment on pgsched_internal.options_of(jsonb,text,smallint,integer) is 'The effective options of an execution: its own options, completed with the defaults of its client, and then with those of its queue.'
comment on pgsched_internal.owner_of_job(uuid) is 'The client of a job, if the session acts for that client; null if the job is unknown or belongs to another client.'
comment on pgsched_internal.partition_in(uuid) is 'The partition that an id carries, or null. Only a hint: an id from elsewhere may seem to carry a partition.'
comment on pgsched_internal.partition_of(pgsched.jobs) is 'The partition for all new rows of a job.'
comment on pgsched_internal.partition_with(uuid) is 'The partition in which an execution lives; null if it is not live.'
comment on pgsched_internal.partitions_of(integer) is 'All partitions of the queue with this first partition.'
comment on pgsched_internal.partitions_per_queue() is 'How many partitions a queue has.'
comment on pgsched_internal.pause_job(uuid,text) is 'Pauses a job: nothing more is planned until it is resumed. Running executions continue. False if it was already paused.'
comment on pgsched_internal.put_away(smallint,uuid,text) is 'Holds a locked execution that made a batch fail, or ends it if it cannot even be held. If neither is possible, the execution stays unchanged.'
comment on pgsched_internal.put_job(uuid,text,jsonb,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text,text) is 'Inserts a job, or replaces the job that holds its key if on_conflict is replace. Returns null if that job stays unchanged.'
comment on pgsched_internal.put_secret(text,text,bytea,text[],text) is 'Stores a client''s secret, which the caller has sealed, and the hosts that it may be sent to. If hosts is null, a secret that is replaced keeps its hosts. False if an existing secret was replaced. Raises PS011 if the client already has 100 secrets.'
comment on pgsched_internal.quantile(integer[],double precision) is 'The number of seconds below which this share of the values in a histogram of pgsched.rollups lies. It is as precise as the buckets allow, and null if the histogram is empty.'
comment on pgsched_internal.queue_followed() is 'Creates the tables of a queue that was created on the publisher.'
comment on pgsched_internal.queue_number_of(integer) is 'The number of the queue to which a partition belongs.'
comment on pgsched_internal.queue_to_tell(smallint,text) is 'The first partition of the queue through which an end in this partition is reported to a target: this partition''s queue or, if that queue is pulled and a worker has to call the target, the queue default.'
comment on pgsched_internal.reap_in_hand(smallint,integer,timestamp with time zone) is 'Takes back executions that no worker holds and whose leases had run out by a given moment. Examines a limited number of the partition''s due executions. Returns how many it took back.'
comment on pgsched_internal.recall(smallint,uuid,bigint) is 'Adapts a leased run that has not begun to a change of its job. Returns gone if the run was adapted or is no longer leased under this token, kept if the job has not changed since the run was planned, and locked if another transaction has locked the run or the job.'
comment on pgsched_internal.record_in_hand(pgsched.executions,pgsched_internal.results_to_record) is 'Applies a stored result to an execution that this transaction has locked. Returns false, and changes nothing, if another row that the execution''s end writes is locked.'
comment on pgsched_internal.record_result(pgsched_internal.results_to_record) is 'Records a stored result, unless its execution is no longer leased under this token. Returns false if the execution is still locked, true otherwise.'
comment on pgsched_internal.record_results(integer) is 'Records stored results of executions that were locked, up to a limit. Returns the number of results that need no further attempt.'
comment on pgsched_internal.refuse(text,text,text) is 'Raises an error with this SQLSTATE. The message and the hint are cut to 500 characters each. CHECK constraints call it to explain a rejection.'
comment on pgsched_internal.refuse_declared(pgsched.jobs,text) is 'Raises PS011 if a job is part of a declaration.'
comment on pgsched_internal.refuse_full(integer) is 'Raises PS014 if the queue with this first partition is full.'
comment on pgsched_internal.refuse_taken(pgsched_internal.keys,text) is 'Raises PS011; the error names the holder of the key.'
comment on pgsched_internal.release_abandoned(integer,uuid) is 'Releases or skips the dependents of executions that no longer exist, as if these had been cancelled. Checks up to most awaited executions with ids after the given one. Returns how many dependents were released or skipped, and where to continue if there may be more.'
comment on pgsched_internal.release_dependents(integer,uuid,uuid,integer) is 'Releases or skips the dependents of executions that have ended. most limits the number of ends that are checked, and width the number of their dependents. To continue, pass in the last end that was checked (after) and, if that end may have further dependents, the last of them that was checked (behind). Returns how many ends were recorded for all of their dependents, how many dependents were released or skipped, and where to continue if there may be more.'
comment on pgsched_internal.replace_waiting(pgsched.executions,text,jsonb,timestamp with time zone,jsonb,jsonb) is 'Replaces the content and the instant of a locked waiting execution, and resets its attempts.'
comment on pgsched_internal.replan_from(pgsched.executions,pgsched.jobs) is 'No longer counts a run that did not begin. If the job is still active, has the job planned again from the run''s instant.'
comment on pgsched_internal.reseal(text,text,bytea,bytea) is 'Replaces the sealed form of a secret with one that is sealed with a new key. False if the secret was replaced in the meantime. Called when the sealing keys change.'
comment on pgsched_internal.restore_target(text,text,text) is 'Resumes calls to a target host that was paused, by hand or because it failed: a few executions a second at first, then at an increasing rate. False if it was not paused.'
comment on pgsched_internal.resume_job(uuid) is 'Resumes a paused or invalid job. False if it was already active.'
comment on pgsched_internal.revive(pgsched.history,timestamp with time zone,text,jsonb,jsonb,text) is 'Schedules a locked dead letter again as a new execution with the full number of attempts, and marks the dead letter as replayed. Returns the new id, or null if the work is under way or has been done since. Raises PS001 if the target does not fit the queue, and PS011 if the queue was dropped.'
comment on pgsched_internal.revoke_key(text,text) is 'Revokes an API key: within a second, all API servers stop accepting it. False if it was already revoked. Raises PS010 for an unknown key, and PS012 if the session may not do this.'
comment on pgsched_internal.roll_up(jsonb) is 'Adds a worker''s counts to the rollups.'
comment on pgsched_internal.roll_up_notes(integer) is 'Adds notes to the rollups, up to a limit. Returns how many it added.'
comment on pgsched_internal.rollup_days() is 'The number of days for which rollups are kept.'
comment on pgsched_internal.rotate_key(text,bytea,interval,text) is 'Gives an API key a new secret. The former secret stays valid for keep_for. Raises PS010 for an unknown key, PS011 for a revoked one, and PS012 if the session may not do this.'
comment on pgsched_internal.rotate_signing_secret(text,bytea,text,interval,text) is 'Gives a client a new signing secret, which the caller has sealed; hint is the end of the secret, by which people recognise it. Earlier secrets stay valid for keep_for; during this time, callbacks also carry a signature for each of them. Raises PS011 if five secrets are already valid.'
comment on pgsched_internal.rows_of_job(uuid,text,integer,timestamp with time zone,timestamp with time zone) is 'The live rows of a job that meet a condition, from all of its partitions. In the condition, $2 is a revision, and $3 and $4 are instants.'
comment on pgsched_internal.schedule_after(text,jsonb,timestamp with time zone,text,text,text,text,jsonb,text,text[],text,jsonb) is 'Schedules one execution that waits for others; called by pgsched.schedule_outcome.'
comment on pgsched_internal.schedule_job(text,jsonb,text,interval,text,text,text,text,text,jsonb,text,jsonb,jsonb,text,text) is 'Creates or replaces a recurring job; called by pgsched.schedule_outcome. A worker plans its first row.'
comment on pgsched_internal.schedule_keyed(text,jsonb,timestamp with time zone,text,text,text,text,jsonb,text,jsonb) is 'Schedules one execution under a key; called by pgsched.schedule_outcome.'
comment on pgsched_internal.schedule_plain(text,jsonb,timestamp with time zone,text,text,text,jsonb,jsonb) is 'Schedules one execution without a key; called by pgsched.schedule_outcome.'
comment on pgsched_internal.schedule_together(text,jsonb) is 'Schedules several one-shots of a client in the given order: all of them, or none. Each one-shot is an object with the parameters of pgsched.schedule_outcome by name; JSON parameters are given as text. Waits only briefly for locks.'
comment on pgsched_internal.schedule_under(pgsched_internal.keys,uuid,smallint,text,jsonb,timestamp with time zone,text,text,text,jsonb,text,jsonb) is 'Schedules one execution under a locked key that has been used before; called by schedule_keyed.'
comment on pgsched_internal.sealed_with() is 'The identifying bytes of each key that secrets are sealed with, and the number of these secrets. Reads at most about 100,000 secrets.'
comment on pgsched_internal.seconds_in(jsonb,text) is 'The value of a duration option in seconds; null if it is not given.'
comment on pgsched_internal.seconds_since(integer) is 'The minimum number of seconds since a transaction began, estimated from how many transactions have started since, and from the rollups of the last two hours; null if these have fewer than two minutes since then.'
comment on pgsched_internal.set_aside(smallint,uuid,text,boolean) is 'Holds a locked execution until its owner deals with it, and records the reason. If with_job is true, the execution''s job becomes invalid, too.'
comment on pgsched_internal.set_client_paused(boolean,text,text) is 'Pauses or resumes a client. While it is paused, none of its executions begin; running ones continue. False if nothing changed.'
comment on pgsched_internal.set_installation_paused(boolean,text) is 'Holds or releases the installation. While it is held, workers and consumers begin nothing from any queue. Once it is released, everything that is due begins on this server. False if nothing changed.'
comment on pgsched_internal.set_key_rate(text,integer,integer,text) is 'Limits the requests of an API key. rate is the maximum number a second, and burst the number that may come at once after a lull. Without a rate, removes the limit. False if nothing changed. Raises PS010 for an unknown key, and PS012 if the session may not do this.'
comment on pgsched_internal.set_paused(boolean,text,text,text,timestamp with time zone,text,text) is 'Pauses or resumes what the arguments name, and records the change in the audit log; false if nothing changed. Does not check the caller''s rights.'
comment on pgsched_internal.set_queue_paused(boolean,text,text) is 'Pauses or resumes a queue. While it is paused, none of its executions begin; running ones continue. False if nothing changed.'
comment on pgsched_internal.set_worker_paused(boolean,text,text) is 'Pauses or resumes a worker. While it is paused, it begins no executions, and other workers take over its share; its running executions continue. False if nothing changed.'
comment on pgsched_internal.setting(text,text) is 'The value of a setting, such as pgsched.key_retention, from SET, ALTER ROLE or ALTER DATABASE; the fallback if it is not set.'
comment on pgsched_internal.settle_called(smallint,uuid,bigint,jsonb) is 'Records the success of a leased execution in the caller''s transaction. Its id and token must match the lease.'
comment on pgsched_internal.shown(text,jsonb) is 'The form in which the audit log stores a column''s value: without secrets and payloads, and at most a few KiB long.'
comment on pgsched_internal.shut_gate(text,timestamp with time zone,text) is 'Shuts a gate, so that nothing passes before this instant. False if the gate was already shut until then.'
comment on pgsched_internal.skip_dependents(uuid[]) is 'Of these held executions, skips those that wait for the success of an execution that did not succeed. Returns their ids.'
comment on pgsched_internal.skip_range(pgsched.jobs,timestamp with time zone,timestamp with time zone,bigint,text) is 'Records as skipped, in a single row, a job''s instants that have no row in history. Raises PS012 if the session does not act for the client of the job.'
comment on pgsched_internal.slot_for(text,text,text) is 'The partition of a key within its queue, counted from 0.'
comment on pgsched_internal.spread_overdue(smallint,timestamp with time zone,timestamp with time zone,interval,integer) is 'Moves the waiting executions of a partition that are overdue at due_by, up to a limit. begins is the new instant of the first execution, and apart is the interval between two executions. Returns how many it moved.'
comment on pgsched_internal.stalls() is 'The queues in which nothing begins, by first partition, each with the reason: the installation is held, the queue is paused, or no worker serves it.'
comment on pgsched_internal.status_by_id(uuid) is 'The row of pgsched.status for an execution; called by pgsched.status_of.'
comment on pgsched_internal.still_in_hand(smallint,uuid,bigint) is 'The execution that is still leased under this token; null if there is none. Locks nothing.'
comment on pgsched_internal.still_to_wait_for(pgsched.history) is 'The executions that the replay of a skipped execution must wait for: those that the skipped one waited for and that have not ended. Raises PS011 if an execution that it waited for has ended without success.'
comment on pgsched_internal.stray_days(text) is 'The first and the last day of the rows in the default partition.'
comment on pgsched_internal.succeeded_lately(text,text,uuid) is 'The last execution under a key if it succeeded within the retention time; null otherwise.'
comment on pgsched_internal.sum_of(integer[],integer[]) is 'The sum of two histograms.'
comment on pgsched_internal.superseded_by(pgsched.history) is 'The id of an execution under the same key, or for the same instant of the job, that is waiting or running or has succeeded since the failure; null if there is none.'
comment on pgsched_internal.swap_default(text,text,date,date) is 'Turns the default partition into the table of these days, and creates a new, empty default partition.'
comment on pgsched_internal.take_back(pgsched.executions) is 'Takes back an execution that its worker has not begun, and notifies the worker. Returns the execution, which is now waiting and locked. Returns it unchanged if another transaction has locked it.'
comment on pgsched_internal.take_in_hand(uuid,bigint) is 'Returns the execution that is leased under this token, locked unless another transaction has locked it. Raises PS013 if the execution is no longer leased under this token, PS010 if it is unknown, and PS012 if it belongs to another client.'
comment on pgsched_internal.take_key(text,text,uuid,smallint) is 'Assigns a key to an inserted row. Raises PS011 if another live execution or job holds the key.'
comment on pgsched_internal.take_out(uuid,timestamp with time zone,text) is 'Adds the instant of a cancelled run to the exceptions of its job.'
comment on pgsched_internal.take_turn(pgsched.executions) is 'True if it is this execution''s turn under its ordering key; the execution then becomes the head. Otherwise, the execution is held behind the others.'
comment on pgsched_internal.take_watch(integer,integer) is 'Announces that a worker polls a queue for the next 1.5 seconds. False if another worker does so already.'
comment on pgsched_internal.target_host(text) is 'The host of an http: or https: target, in lower case and without its port; null for other targets.'
comment on pgsched_internal.tell_of_change(uuid) is 'Notifies the workers that have claimed runs of a job that was changed.'
comment on pgsched_internal.tell_outcome(pgsched.executions,pgsched.execution_status,text,smallint,jsonb) is 'Schedules an execution that reports another execution''s outcome, in the transaction that settles the other execution. The target is the one that the options name for this outcome; a failure without such a target is reported to the client''s dead_letter_target. Returns the id, or null if there is no target.'
comment on pgsched_internal.that_fit(smallint[],uuid[],boolean[],integer) is 'How many of these executions can be handed out together, given the size of their payloads, and how much room is left afterwards. The last execution is the one that uses up the room.'
comment on pgsched_internal.this_server() is 'The identity of this server and database, and the current time. A value that the server hides is null.'
comment on pgsched_internal.tidy_keys(integer) is 'Checks keys, up to a limit, and deletes those whose holder is neither live nor recently ended. Returns the number of keys checked.'
comment on pgsched_internal.trim_default_days(integer,integer) is 'Deletes rows older than the given number of days from the default partitions, up to a limit in each. Returns the largest number of rows deleted from one partition.'
comment on pgsched_internal.try_gates(text[]) is 'Locks these gates. Returns the names of gates that it could not lock, because another transaction keeps them locked for more than a moment. Only for workers.'
comment on pgsched_internal.try_lock(text) is 'Tries to take the lock with this name until the transaction ends, without waiting. True if the lock was free.'
comment on pgsched_internal.try_orderings(smallint[]) is 'Locks the orderings of these partitions, so that only this transaction decides whose turn it is there. Returns the partitions that it locked: all except those that another transaction keeps locked for more than a moment. Only for workers: a client''s transaction never takes these locks.'
comment on pgsched_internal.unblock(boolean,text,text) is 'Unblocks an ordering key, and returns the id of the execution that failed, which is not run again. Returns null if the key was not blocked.'
comment on pgsched_internal.unblock_after(uuid[]) is 'Unblocks the ordering keys that these dead letters blocked, because they have been dealt with.'
comment on pgsched_internal.unbound_strays(text,text) is 'Makes the default partition accept rows of any day again.'
comment on pgsched_internal.until_next(text) is 'The number of seconds until the next execution of a queue is due; negative if it is overdue, null if nothing waits or the queue is paused.'
comment on pgsched_internal.wait_for(uuid,uuid,text,interval) is 'Makes a held execution (fire_at infinity) wait until another execution of its client has succeeded (or, with the outcome any, has ended) and the delay has passed. Returns false, and changes nothing, if the other execution has already ended.'
comment on pgsched_internal.wait_for_row(pgsched.executions) is 'Waits a moment to lock an execution that another transaction has locked. True if it was locked in time.'
comment on pgsched_internal.waited(jsonb) is 'An execution''s waits, with the last one ending now; null if the execution has never waited.'
comment on pgsched_internal.waits_for_own(smallint,uuid) is 'True if an execution waits, directly or through others, for one that has the same ordering key and has not ended.'
comment on pgsched_internal.was_dependent(pgsched.history) is 'True if an execution was skipped because another one that it waited for did not succeed.'
comment on pgsched_internal.watch_of(integer) is 'The last announcement that a worker polls a queue; null if there was none.'
comment on pgsched_internal.weeks_of_history(timestamp with time zone) is 'Splits history into spans of at most a week: forward from an instant, then back from it to the oldest day. A final span covers everything before that day.'
comment on pgsched_internal.why_hold(pgsched_internal.fleet,pgsched_internal.fleet,pgsched.installation,boolean,boolean,bigint) is 'The reason why an installation must be held, given the server that its workers were on before (was) and the server that they are on now (here); null if it may continue. known is the number of renewals that the worker last saw, if any; a crash may lose the last renewal, because commits can be asynchronous.'
comment on pgsched_internal.with_defaults(jsonb,jsonb) is 'These changes, with each null replaced with the default.'
comment on pgsched_internal.withdraw(uuid,text,boolean) is 'Takes back the planned row of a job that is edited, paused or cancelled. If the run may still begin and keeps is true, holds the row instead.'
comment on pgsched_internal.worker_left() is 'Records a worker whose row is deleted.'
comment on pgsched_internal.workers_told() is 'Notifies the workers to plan, or to read the settings of clients or queues again, as the trigger says.'
comment on pgsched_internal.write_end(pgsched.executions,pgsched.execution_status,jsonb,text,boolean) is 'Moves a locked execution to history and does what follows from its end; called by end_in_hand.'
comment on pgsched_internal.write_log(text,uuid,text,jsonb,text,text,jsonb,jsonb,text) is 'Writes a row of the audit log, or completes the row in which a trigger has recorded this change. Without an actor, the row names the role that the session acts as. Called after the caller''s rights have been checked.'
comment on pgsched_internal.written_out(jsonb,integer) is 'A value as text; null if the text would be longer than the given number of bytes. Never writes much more.'
