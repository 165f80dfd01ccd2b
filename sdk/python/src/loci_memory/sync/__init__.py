"""The client that waits for each reply."""
