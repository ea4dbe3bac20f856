"""Servers that are added by ssh: the installation of an agent there, and the tunnels that keep it connected."""
