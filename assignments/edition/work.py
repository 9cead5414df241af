"""Put each set's notebook into work/, and bring those that are there up to date.

    python work.py

Nothing that you wrote is ever written over or deleted. When a newer edition has another notebook,
your answers and cells go over into it, and the notebook as it was stays beside it under its date.
Files that an earlier edition has left here, unchanged, and this one has no more, are deleted.
"""

import os
from pathlib import Path

from autograder.authoring import unpacked, workspace

os.chdir(Path(__file__).resolve().parent)
print("".join(f"{line}\n" for line in unpacked.clean(Path())), end="")
workspace.main(["problem_sets", workspace.WORK])
