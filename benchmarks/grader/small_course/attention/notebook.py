# %% [markdown]
# # Attention weights
#
# Two short functions on tensors: the kind of notebook that a grader sees most.

# %% nbgrader={"grade": false, "grade_id": "attention_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch


# %% [markdown]
# ## 1. Softmax
#
# `softmax(scores)` turns the last axis into probabilities, whatever the size of the scores.


# %% nbgrader={"grade": false, "grade_id": "attention_softmax_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax(scores):
    """Turn scores into probabilities along the last axis."""
    ### BEGIN SOLUTION
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    weights = shifted.exp()
    return weights / weights.sum(dim=-1, keepdim=True)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "attention_softmax", "locked": true, "points": 50, "schema_version": 3, "solution": false, "task": false}
assert softmax(torch.zeros(1, 4)).tolist() == [[0.25] * 4], "equal scores get equal shares"


# %% [markdown]
# ## 2. Looking back
#
# `causal(scores)` does the same, but row t may only look at columns up to t.


# %% nbgrader={"grade": false, "grade_id": "attention_causal_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def causal(scores):
    """Turn scores into probabilities of the past."""
    ### BEGIN SOLUTION
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return softmax(scores.masked_fill(future, -torch.inf))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "attention_causal", "locked": true, "points": 50, "schema_version": 3, "solution": false, "task": false}
assert causal(torch.zeros(2, 2)).tolist() == [[1.0, 0.0], [0.5, 0.5]], "no look ahead"
