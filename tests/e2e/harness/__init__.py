"""What the end-to-end suites stand on: processes, clients, replies, tokens."""
