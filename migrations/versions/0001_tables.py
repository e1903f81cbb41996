"""The first schema: clients, queues, jobs, executions, history, attempts, workers."""

from pathlib import Path

from pgsched.store.admin.upgrade_steps import run

revision = "pgsched_0001"
down_revision = None
branch_labels = ("pgsched",)
depends_on = None
serves_from = "pgsched_0001"


def upgrade() -> None:
    run(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError(
        "pgsched migrates forward only: a downgrade would drop schedules. Restore a backup, or run the previous "
        "release, which works on the newer schema until the next contracting release."
    )
