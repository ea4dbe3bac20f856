"""Files beneath granted folders: walked, placed, packed and named."""
