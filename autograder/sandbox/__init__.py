"""The grader's end of the sandbox: start it, communicate with it, prove that it isolates."""
