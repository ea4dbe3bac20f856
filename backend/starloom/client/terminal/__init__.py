"""The terminal: styles, tables, lines as the reader must type them, and values that people type. Asks no hub."""
