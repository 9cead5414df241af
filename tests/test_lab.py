"""JupyterLab as `make lab` opens it: for students, so without an instructor's buttons."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from jupyter_core.paths import ENV_JUPYTER_PATH
from jupyterlab.commands import get_app_dir

ROOT = Path(__file__).parent.parent
_PAGE = """
import json
from jupyter_core.paths import jupyter_path
from jupyterlab_server.config import get_page_config
print(json.dumps(get_page_config(jupyter_path("labextensions"))))
"""


def page_config(**environment: str) -> list[str]:
    """Return the extensions that a page of JupyterLab is told to leave out."""
    done = subprocess.run(
        [sys.executable, "-c", _PAGE],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["disabledExtensions"]


def test_lab_opens_without_an_instructors_buttons_and_without_news():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    folder = re.search(r'^LAB := JUPYTER_CONFIG_PATH="\$\(CURDIR\)/(\S+)" ', makefile, re.M)[1]
    left_out = set(page_config(JUPYTER_CONFIG_PATH=str(ROOT / folder)))
    assert left_out - set(page_config()) == {
        "@jupyter/nbgrader",
        "@jupyterlab/apputils-extension:announcements",
    }


def test_lab_starts_without_what_nbgrader_adds_to_the_server():
    """Else every start warns students that no nbgrader_config.py was found."""
    path = ROOT / "assignments" / "jupyter" / "jupyter_server_config.json"
    left_out = json.loads(path.read_text())["ServerApp"]["jpserver_extensions"]
    folders = [Path(folder).parent.parent / "etc" / "jupyter" for folder in ENV_JUPYTER_PATH]
    found = [f for folder in folders for f in folder.glob("jupyter_server_config.d/nbgrader*.json")]
    known = [json.loads(file.read_text())["ServerApp"]["jpserver_extensions"] for file in found]
    assert {name for names in known for name in names} == set(left_out)
    assert not any(left_out.values())


def test_extensions_that_are_left_out_exist_by_these_names():
    extensions = [Path(path) / "labextensions" for path in ENV_JUPYTER_PATH]
    assert any(
        (folder / "@jupyter" / "nbgrader" / "package.json").is_file() for folder in extensions
    )
    scripts = (Path(get_app_dir()) / "static").glob("*.js")
    name = b"@jupyterlab/apputils-extension:announcements"
    assert any(name in script.read_bytes() for script in scripts)


def test_lab_opens_in_a_folder_whose_name_has_spaces(tmp_path):
    top = tmp_path / "My Drive" / "a course"
    (top / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", top)
    for name in ("python", "jupyter"):
        program = top / ".venv" / "bin" / name
        program.write_text('#!/bin/sh\necho "$0 $* in $JUPYTER_CONFIG_PATH"\n')
        program.chmod(0o755)
    command = ["make", "-o", ".venv/installed", "lab", "VENV=.venv"]
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=True)
    work, lab = done.stdout.splitlines()
    assert work.startswith(".venv/bin/python -m autograder work")
    assert lab.startswith(".venv/bin/jupyter lab")
    assert lab.endswith(f" in {top}/assignments/jupyter")
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not re.search(r"=\$\(CURDIR\)", text)  # unquoted, in a recipe
