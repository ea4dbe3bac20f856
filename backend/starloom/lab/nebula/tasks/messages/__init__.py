"""Tasks of category G: mail, calendar and messages."""
