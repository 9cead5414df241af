"""What `autograder` and `python -m autograder` run."""

import os
import sys

_EXTRAS = {"dask": "cluster", "distributed": "cluster", "psycopg": "postgres"}


def run() -> None:
    """Run the command line; a package that is missing is one clear line, not a traceback."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # many small jobs; more threads only wait
    try:
        from autograder.cli.main import main

        main(prog_name="autograder")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "autograder"):
            raise
        extra = _EXTRAS.get(package, "grader")
        sys.exit(
            f"error: this needs {package}, which is not installed: "
            f"pip install 'language-models-by-hand[{extra}]'"
        )


if __name__ == "__main__":
    run()
