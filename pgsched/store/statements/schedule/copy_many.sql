-- schedule: one-shots with nothing but their own columns, in COPY's binary format.
copy pgsched.executions (id, partition, fire_at, client_id, target, payload, options) from stdin (format binary)
