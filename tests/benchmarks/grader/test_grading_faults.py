"""What the fault tests report is read as they reported it."""

from benchmarks.grader.grading_faults import read_outcomes


def test_outcomes_hold_what_each_test_counted(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase name="kills"><properties>'
        '<property name="kills of bwrap" value="7"/></properties></testcase>'
        '<testcase name="full disk"><failure message="assert 3 == 4">...</failure></testcase>'
        '<testcase name="cluster"><skipped message="no Dask"/></testcase></testsuite></testsuites>'
    )
    assert read_outcomes(report) == {
        "kills": {"outcome": "held", "kills of bwrap": 7},
        "full disk": {"outcome": "failure: assert 3 == 4"},
        "cluster": {"outcome": "skipped: no Dask"},
    }
