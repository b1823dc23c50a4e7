"""Where bytes lie: revisioned key-value stores behind the Store contract."""
