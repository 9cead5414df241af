"""The outside end of the sandbox: open it, talk to it, prove that it holds."""
