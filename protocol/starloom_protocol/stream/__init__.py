"""Events, their kinds and authors, and what pages read of them live. Owns no record of state and no socket."""
