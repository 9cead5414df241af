"""Many submissions: plan, grade in parallel, record, publish."""
