"""Texts as people and pages write them: times and links. Owns their reading; must not open a file or an address."""
