"""Everything that is mounted into the sandbox, and nothing else; it imports nothing of ours."""
