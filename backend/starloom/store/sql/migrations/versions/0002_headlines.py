"""Head and answer in each row of the list, so that a finished constellation is shown without folding its log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("constellations", sa.Column("answer", sa.LargeBinary(), nullable=True))
    op.add_column("constellations", sa.Column("head", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("constellations", "head")
    op.drop_column("constellations", "answer")
