"""Settings for unmodified nbgrader, its formgrader included.

nbgrader reads this file when it is started in this folder, or with `--config` naming it. All of its
folders, and the gradebook, lie in the folder of the class, where `autograder grade` writes; what
nbgrader's own commands hand out gets there by `autograder release ps1 --out class`.
"""

import os
import sys
from pathlib import Path

from autograder.store.class_folder import class_folder

_HERE = Path(__file__).resolve().parent

# Where the hidden-test lines find the checks; kernels inherit it.
os.environ.setdefault("AUTOGRADER_COURSE", str(_HERE))
# nbgrader calls `alembic` by its bare name.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

c = get_config()
_CLASS, _ = class_folder(_HERE.parent)
c.CourseDirectory.root = str(_CLASS)
c.CourseDirectory.db_url = f"sqlite:///{_CLASS / 'gradebook.db'}"
# A deleted test cell is put back instead of being reported for ever.
c.OverwriteCells.add_missing_cells = True
# A hidden test draws and runs many cases.
c.Execute.timeout = 120
