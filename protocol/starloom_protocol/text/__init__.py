"""Texts for people: how a state, a value and a name are shown, and what is scrubbed from them. Decides nothing."""
