"""Tasks of category I: pictures, media and copies."""
