"""The agent as an installed program: environments, service, start in the background, upgrade.

Owns what outlives the process of an agent on its device. Must not take part in the work.
"""
