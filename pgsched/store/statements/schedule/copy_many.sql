-- schedule: one-shots that set only columns of their own, in COPY's binary format.
copy pgsched.executions (id, partition, fire_at, client_id, target, payload, options) from stdin (format binary)
