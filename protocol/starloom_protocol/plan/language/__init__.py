"""The language of plans: from text to shapes and parameters, each fault with its place. Judges no meaning."""
