"""The checks of whole plans and edits: every part is read and lowered, and their relations are judged."""
