"""Grades with the columns of nbgrader's own CSV export."""

from autograder.files import write_table
from autograder.lms.export import Export, ExportRequest, Format

_COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)
_LATE_DAYS = ("late_days", "late_days_left")


def nbgrader_csv(request: ExportRequest) -> Export:
    """Write one row for each submission; without points where nothing was graded.

    Where the course has late days, two columns that are not nbgrader's say how many were spent.
    """
    rows, everybody = [], (*request.scores, *request.ungraded)
    more = _LATE_DAYS if any(score.late_days_left is not None for score in everybody) else ()
    for score in sorted(everybody, key=lambda score: score.student):
        exact = (score.raw_points, score.penalty, score.points)
        points = tuple(round(value, 4) for value in exact)  # 50.6, not 50.60000000000001
        rows.append(
            (
                *(request.outline.name, score.due, score.submitted, score.student),
                *(score.last_name, score.first_name, score.email),
                *(points if score.is_graded else ("", "", "")),
                score.max_points,
                *(getattr(score, name) for name in more),
            )
        )
    return Export(write_table([(*_COLUMNS, *more), *rows]))


FORMATS = (Format("csv", "nbgrader's columns, every submission", nbgrader_csv),)
