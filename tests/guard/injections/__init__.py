"""The injection corpus: hostile texts by kind (`*.yaml`), a model that obeys them, and what may come of it."""
