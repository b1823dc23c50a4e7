"""Questions that are answered and not kept: who is asking, whose a token is, who may do what."""
