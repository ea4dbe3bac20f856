"""The history may be pruned: anchors replace removed commits, and its size is known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

COMMIT_BYTES = 120
SPAN_BYTES = 40


def upgrade() -> None:
    op.add_column("commits", sa.Column("pruning", sa.BigInteger(), nullable=True))
    op.add_column("meta", sa.Column("seal", sa.LargeBinary(), nullable=True))
    op.add_column("meta", sa.Column("sealed_pos", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("meta", sa.Column("size_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_index("constellations_by_end", "constellations", ["ended_ms", "id"])
    op.create_table(
        "prunings",
        sa.Column("no", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("after_pos", sa.BigInteger(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("commits", sa.BigInteger(), nullable=False),
        sa.Column("leftovers", sa.LargeBinary(), nullable=False),
        sa.Column("seal", sa.LargeBinary(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("no"),
    )
    op.create_index("ix_prunings_after_pos", "prunings", ["after_pos"])
    op.create_table(
        "anchors",
        sa.Column("first", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("before", sa.LargeBinary(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("link", sa.LargeBinary(), nullable=False),
        sa.Column("pruning", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("first"),
    )
    op.create_index("ix_anchors_last", "anchors", ["last"])
    op.create_index("ix_anchors_pruning", "anchors", ["pruning"])
    op.create_table(
        "pruned",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("pruning", sa.BigInteger(), nullable=False),
        sa.Column("swept", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_pruned_pruning", "pruned", ["pruning"])
    op.create_index("ix_pruned_swept", "pruned", ["swept"])
    _measure()


def _measure() -> None:
    """Measure the present history once; from now on each write and each pruning counts its own part."""

    sqlite = op.get_bind().dialect.name == "sqlite"

    def size(*names: str) -> str:
        each = "length(CAST({} AS BLOB))" if sqlite else "octet_length({})"
        return " + ".join(f"coalesce(sum({each.format(name)}), 0)" for name in names)

    commits = f"SELECT count(*) * {COMMIT_BYTES} + {size('events', 'inputs', 'outbox')} FROM commits"  # noqa: S608
    spans = f"SELECT count(*) * {SPAN_BYTES} + {size('stream', 'told')} FROM spans"  # noqa: S608
    op.execute(f"UPDATE meta SET size_bytes = ({commits}) + ({spans})")  # noqa: S608


def downgrade() -> None:
    if op.get_bind().execute(sa.text("SELECT count(*) FROM prunings")).scalar():
        raise RuntimeError("this history was pruned, and an older version cannot read across what is gone")
    op.drop_table("pruned")
    op.drop_table("anchors")
    op.drop_table("prunings")
    op.drop_index("constellations_by_end", "constellations")
    op.drop_column("meta", "sealed_pos")
    op.drop_column("meta", "seal")
    op.drop_column("meta", "size_bytes")
    op.drop_column("commits", "pruning")
