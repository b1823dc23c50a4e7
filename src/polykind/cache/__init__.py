"""What is stored, as bytes ready to send, in memory; what changed of late; and who watches."""
