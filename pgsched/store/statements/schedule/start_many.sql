-- schedule: when the transaction began, the clock in milliseconds, and whether this role may not use COPY.
select now(), (extract(epoch from clock_timestamp()) * 1000)::bigint, row_security_active('pgsched.executions')
