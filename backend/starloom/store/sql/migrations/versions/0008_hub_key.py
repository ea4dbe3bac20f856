"""The public key of the hubs of a history: a hub with another one is not theirs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("meta", sa.Column("hub_key", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("meta", "hub_key")
