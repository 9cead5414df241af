"""Processes that train together, as `torchrun` would start them."""

import faulthandler
import multiprocessing
import os
import random
import socket
from pathlib import Path

import torch

N_ATTEMPTS = 3
"""How often to start anew when a process was ended by a signal: a thread of gloo's has, once in
about 200 runs, met a segmentation fault or an abort. An exception of ours fails at once."""


def train_together(work, folder: Path, *arguments) -> Path:
    """Run `work(number, folder, *arguments)` in two new processes; return the folder it was given.

    Raises:
        AssertionError: with what both processes printed, if one of them fails.
    """
    context = multiprocessing.get_context("spawn")
    for attempt in range(N_ATTEMPTS):
        own = folder / f"attempt-{attempt}"
        own.mkdir()
        port = _free_port()
        processes = [
            context.Process(target=_join, args=(number, port, work, own, arguments))
            for number in range(2)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(timeout=900)
            process.kill()  # nothing to one that has ended
        codes = [process.exitcode for process in processes]
        if codes == [0, 0]:
            return own
        printed = "\n\n".join(_printed(own, number).read_text() for number in range(2))
        report = f"attempt {attempt}: the processes ended with {codes}; they printed:\n{printed}"
        print(report)
        if not any(code is not None and code < 0 for code in codes):
            break
    raise AssertionError(report)


def _join(number: int, port: int, work, folder: Path, arguments) -> None:
    with _printed(folder, number).open("w") as file:
        os.dup2(file.fileno(), 2)
    faulthandler.enable()
    torch.set_num_threads(1)
    os.environ |= {
        "RANK": str(number),
        "WORLD_SIZE": "2",
        "LOCAL_RANK": str(number),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    work(number, folder, *arguments)


def _printed(folder: Path, number: int) -> Path:
    return folder / f"stderr-{number}.txt"


def _free_port() -> int:
    """A port that nobody listens on, and that no connection is given while the processes start."""
    while True:
        port = random.randrange(10_000, 30_000)  # connections get those from 32,768
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
