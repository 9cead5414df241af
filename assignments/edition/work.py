"""Put each set's notebook into work/, and bring those that are there up to date.

    python work.py                     your notebooks
    python work.py lm-spring.zip       a newer edition first, from its zip file

Nothing that you wrote is ever written over or deleted. When a newer edition has another notebook,
your answers and cells go over into it, and the notebook as it was stays beside it under its date.
So does any other file of the edition that you have changed. Files that an earlier edition has left
here, unchanged, and this one has no more, are deleted.
"""

import os
import sys
from pathlib import Path

from autograder.authoring import unpacked, workspace
from autograder.records import GraderError

archives = [Path(given).resolve() for given in sys.argv[1:]]
os.chdir(Path(__file__).resolve().parent)
try:
    for archive in archives:
        print("".join(f"{line}\n" for line in unpacked.unpack(archive, Path())), end="")
except GraderError as error:
    sys.exit(f"error: {error}")
print("".join(f"{line}\n" for line in unpacked.clean(Path())), end="")
workspace.main(["problem_sets", workspace.WORK])
