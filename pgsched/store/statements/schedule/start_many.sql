-- schedule: when the transaction began, the clock in milliseconds, and whether row-level security keeps this role from
-- using COPY.
select now(), (extract(epoch from clock_timestamp()) * 1000)::bigint, row_security_active('pgsched.executions')
