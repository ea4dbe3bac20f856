"""Tools that reach addresses of the network. Must not follow an address that the policy does not allow."""
