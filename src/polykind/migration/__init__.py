"""Storage version migrations: what they must obey, and what is said of them. Values in, values out."""
