"""``pgsched admin``: commands for security and for the installation as a whole."""

from pgsched.cli.command_group import CommandGroup

admin = CommandGroup(
    "admin",
    sections={
        "Security": {
            "keys": ("keys:keys", "Create, list, rotate, limit and revoke API keys."),
            "secrets": ("secrets:secrets", "Store, list and drop secrets; rotate their encryption keys."),
            "audit": ("audit:audit", "List changes: who changed what, and the values before."),
        },
        "Installation": {
            "installation": (
                "installation_settings:installation",
                "Show and change settings of the installation as a whole.",
            ),
            "history": ("history:history", "Archive days of history, and repair missing days."),
            "recover": ("recover:recover", "Show what a restored database would fire, or release the installation."),
        },
    },
)
