"""Files beneath granted folders: opened without following links, walked, placed, packed and recognised."""
