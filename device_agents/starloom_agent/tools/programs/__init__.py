"""Tools that run programs for a request. Owns their argument lists; must not pass a string to a shell."""
