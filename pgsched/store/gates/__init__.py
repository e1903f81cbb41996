"""What holds executions back: limits, ordering keys, circuits, full queues."""
