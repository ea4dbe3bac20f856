"""Pictures without a library: PNG read and written, scaled and laid out."""
