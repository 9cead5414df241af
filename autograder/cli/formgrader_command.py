"""The command that opens nbgrader's formgrader on what was graded."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click

from autograder.authoring.course import find_course
from autograder.cli.options import out_option, report_errors, results_of
from autograder.records import GraderError
from autograder.temporary import temporary_folder

_CONFIG = (
    "c = get_config()\nc.CourseDirectory.root = {root!r}\nc.CourseDirectory.db_url = {url!r}\n"
)
_ROOT = Path(__file__).parents[2]
_MATHJAX = _ROOT / "autograder" / "reports" / "templates" / "formgrade_mathjax.html.j2"
# Not there where only the wheel is: formulas are shown as written.
_MATHJAX_FILES = _ROOT / "third_party" / "mathjax" / "mathjax.zip"


@click.command(
    epilog="\b\nExamples:\n  autograder formgrader\n"
    "  autograder formgrader --out _build/sample_class\n"
    "  autograder formgrader --no-browser --port 8899    on a server: tunnel to that port"
)
@out_option
@click.option("--db", "database", default="", help="Gradebook.  [default: OUT/gradebook.db]")
@click.option("--port", type=click.IntRange(1, 65535), default=8888, show_default=True)
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open it at once.")
@click.pass_obj
@report_errors
def formgrader(folder: Path | None, out: Path, database: str, port: int, browser: bool) -> None:
    """Grade written answers by hand, in nbgrader's formgrader.

    Points that you give there survive every later `grade`; `dashboard` writes the pages again with
    them. Leave formgrader's own autograde button alone: it runs student code without the sandbox.
    """
    from autograder.authoring.release import ReleasedSet, write
    from autograder.class_run.settings import Settings

    course = find_course(folder)
    out, database = results_of(course, out.resolve(), database)
    if not database and not (out / "gradebook.db").exists():
        raise GraderError(f"no gradebook at {out / 'gradebook.db'}: grade a class first")
    url = Settings(out, database).url
    for name in course.sets() if course.has_checks else ():
        graded = any((out / "autograded").glob(f"*/{name}"))
        if graded and not (out / "source" / name).exists():
            write(ReleasedSet(course, name).notebooks, out)  # it lists sets that have a source
    # nbgrader reads its settings in the folder where Jupyter starts.
    with temporary_folder("formgrader") as place:
        text = _CONFIG.format(root=str(out), url=url)
        Path(place, "nbgrader_config.py").write_text(text, encoding="utf-8")
        # nbconvert looks here before it takes its own macro, which loads MathJax from elsewhere.
        templates = Path(place, "nbconvert", "templates", "formgrade")
        templates.mkdir(parents=True)
        shutil.copyfile(_MATHJAX, templates / "mathjax.html.j2")
        if _MATHJAX_FILES.exists():
            shutil.unpack_archive(_MATHJAX_FILES, Path(place, "static", "mathjax"))
        command = [sys.executable, "-m", "jupyter_server", f"--ServerApp.root_dir={out}"]
        # On what was graded: the page of assignments offers to generate, release and collect them.
        command += ["--ServerApp.default_url=/formgrader/gradebook", f"--ServerApp.port={port}"]
        command += [f"--ServerApp.open_browser={browser}", "--ServerApp.answer_yes=True"]
        command.append(f"--ServerApp.extra_static_paths={place}/static")
        if os.geteuid() == 0:  # Jupyter refuses root; in a container there is often nobody else
            command.append("--allow-root")
        paths = [str(place), *filter(None, [os.environ.get("JUPYTER_PATH")])]
        environment = os.environ | {
            "AUTOGRADER_COURSE": str(course.folder),
            "JUPYTER_PATH": os.pathsep.join(paths),
        }
        try:
            sys.exit(subprocess.run(command, cwd=place, env=environment, check=False).returncode)
        except KeyboardInterrupt:
            sys.exit(0)  # Ctrl-C is how it ends
