"""What `autograder` and `python -m autograder` run."""

import os


def run() -> None:
    """Run the command line."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # many small jobs; more threads only wait
    from autograder.cli.main import main

    main(prog_name="autograder")


if __name__ == "__main__":
    run()
