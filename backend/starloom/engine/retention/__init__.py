"""The time that finished constellations are kept, in memory and in the durable history.

The core decides which may leave; these modules remove them in bounded pieces.
"""
