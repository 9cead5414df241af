"""The container of the Dockerfile: its own steps, run in a fresh Debian; no container is built."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.dockerfile import Image, ignored, instructions

ROOT = Path(__file__).parent.parent
STEPS = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
_PASSED_ON = ("PIP_FIND_LINKS", "PIP_INDEX_URL", "http_proxy", "https_proxy", "no_proxy")
_CERTIFICATES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
_GRADE = """
export OMP_NUM_THREADS=1
make release >/dev/null && mkdir -p /tmp/handed_in/ada
cp _build/course/solution/ps1/ps1.ipynb /tmp/handed_in/ada/
autograder grade ps1 --submissions /tmp/handed_in --out /tmp/graded
python -c '
import json
grade = json.load(open("/tmp/graded/records/ps1/ada.json"))["grade"]
parts = [(one["item"], part) for one in grade["verdicts"] for part in one["parts"]]
print("failed:", [each for each in parts if not each[1]["passed"]])
'
"""


def test_an_instruction_that_the_test_cannot_run_is_refused():
    assert instructions("# a\nRUN a \\\n # b\n  b\n") == [("RUN", "a  b")]
    with pytest.raises(ValueError, match="the Dockerfile says HEALTHCHECK"):
        instructions("HEALTHCHECK NONE")


def test_image_serves_binder_and_ends_as_an_ordinary_user():
    """Binder names the user and starts Jupyter itself, in the user's home folder."""
    arguments = [argument.partition("=")[0] for name, argument in STEPS if name == "ARG"]
    assert {"NB_USER", "NB_UID"} <= set(arguments)
    assert [argument for name, argument in STEPS if name == "USER"] == ["${NB_USER}"]
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert re.search(r"^notebook==", pins, re.M) and re.search(r"^jupyterlab==", pins, re.M)
    assert re.search(r"^FROM debian:12-slim$", (ROOT / "Dockerfile").read_text("utf-8"), re.M)


def test_what_people_made_never_enters_an_image():
    left_out = ignored((ROOT / ".dockerignore").read_text(encoding="utf-8"))
    assert {"work", "class", "class-*", "runs", "_build", ".git"} <= left_out


def test_codespace_is_built_from_the_dockerfile_and_its_ports_exist():
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8")
    settings = json.loads(re.sub(r"^ *//.*$", "", text, flags=re.M))
    folder = ROOT / ".devcontainer"
    assert (folder / settings["build"]["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (folder / settings["build"]["context"]).resolve() == ROOT
    assert ("ARG", f"NB_USER={settings['remoteUser']}") in STEPS
    interpreter = settings["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert any(
        argument.startswith(f"VENV={Path(interpreter).parents[1]} ") for _, argument in STEPS
    )


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A fresh Debian in which the Dockerfile's steps were run."""
    if os.getuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("needs root and mmdebstrap: apt-get install mmdebstrap")
    root = tmp_path_factory.mktemp("image") / "root"
    made = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", "bookworm", str(root)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"no fresh Debian could be made: {made.stderr[-500:]}")
    image = Image(root, outside={key: os.environ[key] for key in _PASSED_ON if key in os.environ})
    mounts = [Path("/proc"), *map(Path, filter(None, [os.environ.get("PIP_FIND_LINKS")]))]
    for key in _CERTIFICATES:
        if source := os.environ.get(key):
            place = root / "etc" / "outside-certificates.crt"
            shutil.copyfile(source, place)
            image.outside[key] = "/etc/outside-certificates.crt"
    mounted = []
    try:
        for folder in mounts:
            place = root / str(folder).lstrip("/")
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", str(folder), str(place)], check=True)
            mounted.append(place)
            if folder != Path("/proc"):  # a killed run leaves it mounted where pytest deletes
                subprocess.run(["mount", "-o", "remount,bind,ro", str(place)], check=True)
        for name in ("resolv.conf", "hosts"):
            shutil.copyfile(f"/etc/{name}", root / "etc" / name)
        for name, argument in STEPS:
            image.step(name, argument, ROOT)
        yield image
    finally:
        for place in mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_steps_of_the_dockerfile_make_a_course_that_runs_and_grades(image):
    assert image.user == "learner" and image.folder == "/home/learner"
    assert "make" in image.command
    assert image.run("id -un").strip() == "learner"
    # Debian's own Python and pip, as an ordinary user has them; nothing looks like trouble.
    assert image.run("/usr/bin/python3 --version").startswith("Python 3.11.2")
    assert not re.search(r"(?i)deprecat|^(warning|error)", image.printed, re.M), image.printed
    image.run("jupyter lab --version && jupyter notebook --version")  # what Binder starts
    image.run("python -c 'import course_pkg as lm; lm.GPT(lm.gpt_tiny(100))'")
    image.run("python -m course_pkg doctor")
    graded = image.run(_GRADE, user="root")
    assert re.search(r"^ada +(\d+) of \1 +graded", graded, re.M), graded  # the rest a person gives
