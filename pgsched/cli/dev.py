"""``pgsched dev``: for those who try pgsched out or measure it."""

from pgsched.cli.command_group import CommandGroup

dev = CommandGroup(
    "dev",
    sections={
        "Commands": {
            "demo": ("demo:demo", "Schedule 1,000 one-shots and three jobs on a temporary PostgreSQL."),
            "bench": ("bench:bench", "Measure pgsched on a temporary database."),
        }
    },
)
