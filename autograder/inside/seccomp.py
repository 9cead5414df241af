"""Deny system calls that student code does not need: a seccomp filter, written by hand.

Sandboxes have been broken through rarely used parts of the kernel, so those are out of reach
whatever else isolates.
"""

import ctypes
import os
import signal
import struct
from collections.abc import Collection, Iterable

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000  # a second numbering of x86_64's calls

# Each call's number on x86_64 and on aarch64; None where a machine lacks it.
_Numbers = dict[str, tuple[int | None, int | None]]

UNNEEDED: _Numbers = {
    # into other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    # memory that belongs to no process, so that no limit would count it
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    # watches of epoll, of 200 bytes: as many as the product of three numbers of descriptors
    "epoll_create": (213, None),
    "epoll_create1": (291, 20),
    # memory that is held by a pipe or a socket at a small part of its size
    "splice": (275, 76),
    "vmsplice": (278, 75),
    "tee": (276, 77),
    "sendfile": (40, 71),
    # lists of who may use a file, of 64 KB, of which a file system in memory counts none
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    # programs that the kernel keeps and translates, into memory that all have in common
    "seccomp": (317, 277),
    # what others do with a file that all may read: when, which part of it, and whose lock it has
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "fadvise64": (221, 223),
    "readahead": (187, 213),
    "mincore": (27, 232),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "mbind": (237, 235),
    "cachestat": (451, 451),
    "preadv2": (327, 286),
    "openat2": (437, 437),
    "flock": (73, 32),
    # what the kernel has noted of others
    "syslog": (103, 116),
    "kcmp": (312, 272),
    "statmount": (457, 457),
    "listmount": (458, 458),
    # other views of the file system
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    # large and young parts of the kernel
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_setup": (206, 0),
    "landlock_create_ruleset": (444, 444),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "personality": (135, 92),
    "modify_ldt": (154, None),
}
"""Denied in every sandbox."""

WITHOUT_NAMESPACES: _Numbers = {
    # without a network of its own, no socket but a pair
    "socket": (41, 198),
    # which would keep files open that no process has, as large as the disk is
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    # without IPC of its own
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semctl": (66, 191),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # without processes of its own: how fast those of others run
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    # without a file system of its own: what Landlock leaves to a file's owner
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
"""Denied where no namespace keeps student code and the rest of the machine apart."""

_NEW_NAMESPACES = 0x7E020000
# UNIX. Sockets of other families reach the hypervisor or rarely used parts of the kernel; those of
# the Internet lead nowhere, but would hold memory that nobody counts, and ports after their end.
_FAMILIES = (1,)
_STREAM = (1,)  # whoever is sent other messages holds those of any number of senders
_MAPPINGS = (0x01, 0x02, 0x03, 0x22, 0x28)  # of a file; without one only what is not shared
# Of fcntl: descriptors, their flags, whom they signal, how large a pipe is. Not: locks, leases and
# hints, which others can see; news of folders; larger pipes; and what is yet to come.
_OF_DESCRIPTORS = (0, 1, 2, 3, 4, 8, 9, 10, 11, 15, 16, 1027, 1030, 1032, 1034)
# Of ioctl: terminals, and descriptors. Not: typing into a terminal, and what drives it, as a modem
# or a radio; flags of files, which their owner may change where they are open to be read; devices.
_OF_TERMINALS = (
    *(*range(0x5401, 0x5405), *range(0x5409, 0x540C), *range(0x540E, 0x5412)),
    *(0x5413, 0x5414, 0x541B, 0x5421, 0x5422, 0x5425, 0x5429, 0x5441, 0x5450, 0x5451, 0x5452),
    *(0x802C542A, 0x402C542B, 0x402C542C, 0x402C542D, 0x80045430, 0x40045431, 0x80045439),
)
# Allowed only where the argument of this index, under this mask, has one of these values.
_Condition = tuple[tuple[int, int], int, int, tuple[int, ...]]
_ONLY_WITH: tuple[_Condition, ...] = (
    ((56, 220), 0, _NEW_NAMESPACES, (0,)),  # clone
    ((302, 261), 0, 0xFFFFFFFF, (0,)),  # prlimit64: of itself
    ((41, 198), 0, 0xFFFFFFFF, _FAMILIES),  # socket
    ((41, 198), 1, 0xF, _STREAM),
    ((53, 199), 0, 0xFFFFFFFF, _FAMILIES),  # socketpair
    ((53, 199), 1, 0xF, _STREAM),  # which cannot be connected to anything else
    ((72, 25), 1, 0xFFFFFFFF, _OF_DESCRIPTORS),  # fcntl
    ((16, 29), 1, 0xFFFFFFFF, _OF_TERMINALS),  # ioctl
    ((9, 222), 3, 0x2F, _MAPPINGS),  # mmap: shared memory without a file is no process's own
)
# Denied where the lower half of the argument of this index has one of these values.
_Exception = tuple[tuple[int, int], int, tuple[int, ...]]
_NEVER_WITH: tuple[_Exception, ...] = (
    ((54, 208), 2, (7, 8, 32, 33)),  # setsockopt: larger buffers
    # prctl: hide what it uses; a filter of its own; a table of futexes of any size
    ((157, 167), 0, (4, 22, 78)),
)
# A child that ends waits as a zombie, with its time, unless its parent ignores SIGCHLD; so what
# happens on that signal stays as it is. Data loaders with worker processes want to change it.
_SIGNALS_BUT_SIGCHLD = tuple({*range(1, 65)} - {signal.SIGCHLD})
_KEEPS_CHILDREN: _Condition = ((13, 134), 0, 0xFFFFFFFF, _SIGNALS_BUT_SIGCHLD)  # rt_sigaction
_CLONE3 = 435  # its flags cannot be looked at; libraries use `clone` where it does not exist

_LOAD, _EQUAL, _AT_LEAST, _AND, _GIVE = 0x20, 0x15, 0x35, 0x54, 0x06
_KILL, _ALLOW = 0x80000000, 0x7FFF0000
_DENY, _DOES_NOT_EXIST = 0x00050001, 0x00050026
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16
_Program = list[tuple[int, int, int, int]]


def architecture_is_known() -> bool:
    """Whether this machine's numbers are known."""
    return os.uname().machine in _ARCHITECTURES


def deny(calls: _Numbers, keeps_children: bool = False) -> None:
    """Answer these calls with EPERM, in this process and its children, for good.

    On other machines than the two whose numbers are known nothing is denied.

    Args:
        keeps_children: let no child end without a trace, so that all CPU time is counted.
    """
    if not architecture_is_known():
        return
    column = list(_ARCHITECTURES).index(os.uname().machine)
    numbers = [number for pair in calls.values() if (number := pair[column]) is not None]
    conditions = (*_ONLY_WITH, _KEEPS_CHILDREN) if keeps_children else _ONLY_WITH
    program = _program(_ARCHITECTURES[os.uname().machine], column, numbers, conditions)
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def _program(
    architecture: int, column: int, numbers: Collection[int], conditions: Iterable[_Condition]
) -> _Program:
    """Return BPF instructions: (code, jump if true, jump if false, value)."""
    program: _Program = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 1, 0, architecture),
        (_GIVE, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _X32),
        (_GIVE, 0, 0, _DENY),
        (_EQUAL, 0, 1, _CLONE3),
        (_GIVE, 0, 0, _DOES_NOT_EXIST),
    ]
    for pair, argument, mask, values in conditions:
        program += [
            (_EQUAL, 0, len(values) + 4, pair[column]),
            (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument),
            (_AND, 0, 0, mask),
            *((_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)),
            (_GIVE, 0, 0, _DENY),
            (_LOAD, 0, 0, _NUMBER_AT),
        ]
    for pair, argument, values in _NEVER_WITH:
        program += [
            (_EQUAL, 0, len(values) + 4, pair[column]),
            (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument),
            *((_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)),
            (_EQUAL, 1, 1, 0),  # over the next one, whatever it is
            (_GIVE, 0, 0, _DENY),
            (_LOAD, 0, 0, _NUMBER_AT),
        ]
    program += [(_EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    return [*program, (_GIVE, 0, 0, _ALLOW), (_GIVE, 0, 0, _DENY)]
