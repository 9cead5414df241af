"""Short commands: `python -m course_pkg doctor`, `chat`, `complete` and `export-web`."""

import argparse
import sys
from pathlib import Path

from course_pkg import chat, doctor
from course_pkg.weights.web_export import export_web


def main() -> int:
    """Run one of the short commands; the longer ones are modules of their own."""
    parser = argparse.ArgumentParser(
        prog="python -m course_pkg",
        epilog="See also: python -m course_pkg.train --help, "
        "python -m course_pkg.training.planning --help",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="say whether this machine can run the course")
    chat.add_commands(commands)
    export = commands.add_parser("export-web", help="write a trained model as a script for a page")
    export.add_argument("folder", type=Path, help="a folder with a trained GPT or BERT")
    export.add_argument("--out", type=Path, required=True, help="where the script goes")
    args = parser.parse_args()
    if args.command == "doctor":
        return doctor.main()
    try:
        if args.command != "export-web":
            return int(args.run(args))
        path = export_web(args.folder, args.out)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
