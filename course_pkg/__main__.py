"""Short commands: `python -m course_pkg doctor`, `chat`, `complete` and `export-web`."""

import argparse
import sys
from pathlib import Path

from course_pkg import chat, doctor
from course_pkg.weights.published import PUBLISHED
from course_pkg.weights.web_export import export_web, place_published


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
    export = commands.add_parser("export-web", help="put a trained model where a page finds it")
    export.add_argument(
        "folder", type=Path, help=f"with a trained GPT or BERT, or the name {', '.join(PUBLISHED)}"
    )
    export.add_argument("--out", type=Path, required=True, help="folder that the page reads")
    args = parser.parse_args()
    if args.command == "doctor":
        return doctor.main()
    try:
        if args.command != "export-web":
            return int(args.run(args))
        is_published = str(args.folder) in PUBLISHED and not args.folder.exists()
        path = (place_published if is_published else export_web)(args.folder, args.out)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
