"""Programs that a tool starts: found, confined, ended, with a display and with variables."""
