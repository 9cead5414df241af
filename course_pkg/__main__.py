"""`python -m course_pkg doctor`: can this machine run the course?"""

import argparse
import sys

from course_pkg import doctor


def main() -> int:
    """Run the one command there is; the longer ones are modules of their own."""
    parser = argparse.ArgumentParser(
        prog="python -m course_pkg",
        epilog="See also: python -m course_pkg.train --help, python -m course_pkg.planning --help",
    )
    parser.add_argument("command", choices=["doctor"], help=doctor.__doc__.splitlines()[0])
    parser.parse_args()
    return doctor.main()


if __name__ == "__main__":
    sys.exit(main())
