"""Files beneath granted folders: walked, compared, placed, taken back, packed and named."""
