"""SQLite keeps events by row number, their keys beside them, so that plans of megabytes are not compared as keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _made_anew(with_rowid=True)


def downgrade() -> None:
    _made_anew(with_rowid=False)


def _made_anew(*, with_rowid: bool) -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
    op.create_table(
        "events_made_anew",
        sa.Column("stream", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("pos", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("stream", "seq"),
        sqlite_with_rowid=with_rowid,
    )
    columns = 'stream, seq, about, at_ms, body, "by", kind, place, pos'
    op.execute(f"INSERT INTO events_made_anew ({columns}) SELECT {columns} FROM events ORDER BY pos, place")  # noqa: S608 - no value from outside
    op.drop_table("events")
    op.rename_table("events_made_anew", "events")
    op.create_index("events_by_pos", "events", ["pos", "place"])
