"""Grades with the columns of nbgrader's own CSV export."""

from autograder.files import write_table
from autograder.lms.export import Export, ExportRequest, Format

_COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


def nbgrader_csv(request: ExportRequest) -> Export:
    """Write one row for each submission; without points where nothing was graded."""
    rows = []
    for score in sorted((*request.scores, *request.ungraded), key=lambda score: score.student):
        points = (score.raw_points, score.penalty, score.points)
        rows.append(
            (
                *(request.outline.name, score.due, score.submitted, score.student),
                *(score.last_name, score.first_name, score.email),
                *(points if score.is_graded else ("", "", "")),
                score.max_points,
            )
        )
    return Export(write_table([_COLUMNS, *rows]))


FORMATS = (Format("csv", "nbgrader's columns, every submission", nbgrader_csv),)
