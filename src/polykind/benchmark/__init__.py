"""`polykind bench`: the capacity of a server on this machine, or of a given one."""
