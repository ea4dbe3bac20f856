"""Tasks of category E: experiments."""
