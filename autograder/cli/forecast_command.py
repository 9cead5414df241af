"""The command that says how long large classes take."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from autograder.cli.options import json_option, report_errors


@click.command(
    epilog="\b\nExample:\n  python benchmarks/grader/grading_throughput.py --record measured.json\n"
    "  autograder forecast ps1 --measured measured.json --price 0.05"
)
@click.argument("name", metavar="SET")
@click.option(
    "--measured",
    type=click.Path(path_type=Path),
    required=True,
    help="What `benchmarks/grader/grading_throughput.py --record FILE` has written here.",
)
@click.option("--price", type=click.FloatRange(0), help="What one core costs for one hour.")
@json_option
@report_errors
def forecast(name: str, measured: Path, price: float | None, as_json: bool) -> None:
    """Say how long large classes take, and what they cost.

    For 10^3, 10^5 and 10^7 submissions, computed from what one submission was measured at. However
    many cores there are, one process writes the gradebook and the pages: where that is what takes
    longest, more cores do not help.
    """
    from autograder.class_run import forecast
    from autograder.cli import output

    cost = forecast.read_measured(measured, name)
    forecasts = [forecast.forecast(cost, n) for n in forecast.SIZES]
    if as_json:
        click.echo(json.dumps([asdict(one) for one in forecasts], indent=1))
    else:
        output.print_forecast(output.new_console(), forecasts, price)
