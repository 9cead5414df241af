"""What a submission in nbgrader's gradebook comes to, as a record of ours."""

from typing import Any

from autograder.records import FinalScore, ItemScore


def final_score(submission: Any) -> FinalScore:
    """Add up one submission as nbgrader does: what people gave, less what was late, never below 0.

    Args:
        submission: nbgrader's `SubmittedAssignment`, while its session is open.
    """
    comments = {
        row.name: row.manual_comment or ""
        for notebook in submission.notebooks
        for row in notebook.comments
    }
    items = tuple(
        ItemScore(
            row.name,
            row.score,
            row.max_score,
            row.needs_manual_grade and row.auto_score is None and row.manual_score is None,
            comments.get(row.name) or comments.get(f"{row.name}_answer") or "",
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
