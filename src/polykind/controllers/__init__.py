"""What happens by itself: definitions are established and cleaned up, namespaces emptied, garbage collected."""
