"""Each commit keeps its inputs, by which it can be decided again, and its link of the audit chain."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("commits", sa.Column("chain", sa.LargeBinary(), nullable=True))
    op.add_column("commits", sa.Column("inputs", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("commits", "inputs")
    op.drop_column("commits", "chain")
