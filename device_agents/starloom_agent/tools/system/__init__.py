"""Tools that look at this device or act on its services, processes and packages. Must not reach the network."""
