"""Is a problem set any good? Try its checks on right and wrong answers."""
