"""One submission: run it in the sandbox and judge what comes out."""
