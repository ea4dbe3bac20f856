"""Constellations, devices, plans and answers as text for a terminal. Renders; asks and decides nothing."""
