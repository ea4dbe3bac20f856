"""Commands about constellations: they are asked for, read, controlled, approved and kept."""
