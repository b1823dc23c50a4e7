"""The watch cache: stored objects as bytes ready to send, recent changes, and the watches on them."""
