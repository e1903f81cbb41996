-- schedule: loads one-shots that set only the columns listed here, in COPY's binary format.
copy pgsched.executions (id, partition, fire_at, client_id, target, payload, options) from stdin (format binary)
