-- schedule: the transaction's instant, the clock in milliseconds, and whether COPY is refused to this role.
select now(), (extract(epoch from clock_timestamp()) * 1000)::bigint, row_security_active('pgsched.executions')
