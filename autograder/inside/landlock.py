"""Landlock: a Linux process gives up access to files, TCP and signals without any privilege.

Unlike namespaces it needs nobody's permission, so it is a second layer where there are namespaces
and the first where they are forbidden. Kernel documentation: userspace-api/landlock.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

_libc = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every machine
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICE_NODES = _MAKE_CHAR | _MAKE_BLOCK
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract sockets and signals of processes outside

_NETWORK_SINCE, SIGNALS_SINCE = 4, 6
"""The versions of Landlock that can block TCP, and signals."""


def version() -> int:
    """Return which Landlock this kernel offers; 0 for none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION)))


def make_ruleset(readable: Iterable[str], writable: Iterable[str], *, network: bool) -> int:
    """Return a descriptor of rules: what is below these paths is allowed, and nothing else.

    Whoever enters the rules may signal, and reach by abstract sockets, only others who did, where
    the kernel can say so (`SIGNALS_SINCE`).

    Args:
        readable: files and folders to read and execute; what does not exist is left out.
        writable: folders in which anything but a device may be made.
        network: whether TCP is allowed.
    """
    now = version()
    handled = _all_files(now)
    tcp = 0 if network or now < _NETWORK_SINCE else _TCP
    scopes = _SCOPES if now >= SIGNALS_SINCE else 0
    attributes = struct.pack("=QQQ", handled, tcp, scopes)
    ruleset = _syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    for path in readable:
        _allow(ruleset, path, _READ & handled)
    for path in writable:
        _allow(ruleset, path, handled & ~_DEVICE_NODES)
    return ruleset


def enter(ruleset: int) -> None:
    """Restrict this process and its children by the rules, for good, and close the descriptor.

    The descriptor would let student code add rules for whoever enters them next.
    """
    _syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), 0, 0)
    os.close(ruleset)


def _all_files(version_now: int) -> int:
    """Return every right to files that this version knows; the kernel refuses others."""
    n_rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version_now, 16)
    return (1 << n_rights) - 1


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, fd)
        _syscall(_ADD_RULE, ctypes.c_int(ruleset), _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(fd)


def _syscall(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"landlock: {os.strerror(error)}")
    return result
