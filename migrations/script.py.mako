"""${message}."""

from pathlib import Path

from pgsched.store.admin.upgrade_steps import run

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}
# The revision of the oldest release whose processes work on this schema. A version that only adds repeats what the one before it
# says. One that takes away or renames is for a later release than the one that last used it, whose revision it names.
serves_from = ""


def upgrade() -> None:
    run(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError("pgsched migrates forward only")
