"""Read a Dockerfile and run its steps in a folder that holds a fresh system, without a container.

Only the instructions that ours uses: what a builder would do with others must not be guessed.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

KNOWN = {"FROM", "ARG", "ENV", "RUN", "COPY", "WORKDIR", "USER", "CMD"}


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with their arguments.

    Raises:
        ValueError: for one that is not in `KNOWN`.
    """
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]
    for name, *rest in found:
        if name not in KNOWN or not rest:
            raise ValueError(f"the Dockerfile says {name} {rest}; known are {', '.join(KNOWN)}")
    return [(name, argument) for name, argument in found]


def ignored(text: str) -> set[str]:
    """Return the names at the top that a .dockerignore leaves out."""
    return {line for line in text.splitlines() if line and not line.startswith(("#", "**"))}


@dataclass
class Image:
    """A system in a folder, as the steps so far have made it.

    Attributes:
        given: variables that the builder is given, as by `--build-arg`.
        outside: of this machine: variables that its programs need to reach the network.
        printed: what the steps have printed.
    """

    root: Path
    given: dict[str, str] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "root"
    command: str = ""
    printed: str = ""

    def step(self, name: str, argument: str, context: Path) -> None:
        """Do one instruction, with files from `context`."""
        if name == "RUN":
            self.printed += self.run(argument)  # its shell expands variables
            return
        argument = self._expanded(argument)
        if name == "ARG":
            key, _, default = argument.partition("=")
            self.arguments[key] = self.given.get(key, default)
        elif name == "ENV":
            for pair in argument.split(" "):
                key, _, value = pair.partition("=")
                self.environment[key] = value
        elif name == "COPY":
            self._copy(argument, context)
        elif name == "WORKDIR":
            (self.root / argument.lstrip("/")).mkdir(parents=True, exist_ok=True)
            self.folder = argument
        elif name == "USER":
            self.user = argument
        elif name == "CMD":
            self.command = argument

    def run(self, command: str, user: str = "") -> str:
        """Run a command in the system; return what it prints.

        Raises:
            AssertionError: with what it printed, if it fails.
        """
        variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
        variables |= self.outside | self.arguments | self.environment
        given = [f"{key}={value}" for key, value in variables.items() if value]
        inside = ["/usr/bin/env", "-i", *given, "/bin/sh", "-c", f"cd {self.folder} && {command}"]
        who = user or self.user
        done = subprocess.run(
            ["chroot", f"--userspec={who}:{who}", str(self.root), *inside],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout + done.stderr

    def _expanded(self, text: str) -> str:
        known = self.arguments | self.environment
        return re.sub(r"\$\{(\w+)\}", lambda found: known[found[1]], text)

    def _copy(self, argument: str, context: Path) -> None:
        owner = re.match(r"--chown=(\S+) ", argument)
        source, target = argument.removeprefix(owner[0] if owner else "").split()
        assert source == ".", "only the whole tree is copied"
        left_out = ignored((context / ".dockerignore").read_text(encoding="utf-8"))
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=context, capture_output=True, check=True,
        )  # fmt: skip
        for name in os.fsdecode(listed.stdout).split("\0"):
            if name and Path(name).parts[0] not in left_out and (context / name).is_file():
                place = self.root / target.lstrip("/") / name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(context / name, place)
                shutil.copymode(context / name, place)
        if owner:
            self.run(f"chown -R {owner[1]} {target}", user="root")
