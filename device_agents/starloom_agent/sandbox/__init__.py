"""What bounds a tool process on this machine; level L1: limits, its own group and directory."""
