"""What a submission in nbgrader's gradebook comes to, as a record of ours."""

from collections.abc import Mapping
from typing import Any

from autograder.records import FinalScore, HandGrade, ItemScore


def final_score(submission: Any, belongs: Mapping[str, str]) -> FinalScore:
    """Add up one submission as nbgrader does: what people gave, less what was late, never below 0.

    Args:
        submission: nbgrader's `SubmittedAssignment`, while its session is open.
        belongs: for each cell with an answer, the graded cell to which a comment on it belongs.
    """
    comments: dict[str, str] = {}
    for row in (row for notebook in submission.notebooks for row in notebook.comments):
        place = belongs.get(row.name, row.name.removesuffix("_answer"))
        if row.manual_comment:
            comments[place] = "\n".join(filter(None, [comments.get(place), row.manual_comment]))
    items = tuple(
        ItemScore(
            row.name,
            row.score,
            row.max_score,
            row.needs_manual_grade and row.auto_score is None and row.manual_score is None,
            comments.get(row.name, ""),
            HandGrade(
                row.manual_score,
                comments.get(row.name, ""),
                row.needs_manual_grade,
                row.extra_credit or 0.0,
            ),
        )
        for notebook in submission.notebooks
        for row in notebook.grades
    )
    student, assignment = submission.student, submission.assignment
    penalty = submission.late_submission_penalty or 0.0
    return FinalScore(
        student=student.id,
        points=max(0.0, submission.score - penalty),
        max_points=assignment.max_score,
        penalty=penalty,
        email=student.email or "",
        items=items,
        raw_points=submission.score,
        due=str(assignment.duedate or ""),
        submitted=str(submission.timestamp or ""),
        last_name=student.last_name or "",
        first_name=student.first_name or "",
    )
