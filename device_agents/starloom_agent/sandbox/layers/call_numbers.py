"""The numbers of the system calls that a cage refuses or tries, on each processor that is known. Pure data."""

from __future__ import annotations

from typing import Final

ARCHITECTURES: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
# Numbers on x86_64 and on aarch64; None: this processor has no such call.
_NUMBERS: Final[dict[str, tuple[int | None, int | None]]] = {
    "add_key": (248, 217), "bpf": (321, 280), "chmod": (90, None), "chown": (92, None), "chroot": (161, 51),
    "clone": (56, 220), "clone3": (435, 435), "fanotify_init": (300, 262), "fchmod": (91, 52), "fchmodat": (268, 53),
    "fchmodat2": (452, 452), "fchown": (93, 55), "fchownat": (260, 54), "fcntl": (72, 25), "file_setattr": (469, 469),
    "fremovexattr": (199, 16), "fsconfig": (431, 431), "fsetxattr": (190, 7), "fsmount": (432, 432),
    "fsopen": (430, 430), "fspick": (433, 433), "futimesat": (261, None), "inotify_add_watch": (254, 27),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioctl": (16, 29),
    "ioprio_set": (251, 30), "kcmp": (312, 272), "keyctl": (250, 219), "kill": (62, 129), "lchown": (94, None),
    "lremovexattr": (198, 15), "lsetxattr": (189, 6), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "migrate_pages": (256, 238), "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "move_pages": (279, 239), "mq_open": (240, 180), "msgget": (68, 186), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "pivot_root": (155, 41), "prlimit64": (302, 261), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "removexattr": (197, 14), "removexattrat": (466, 466), "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "semget": (64, 190),
    "setns": (308, 268), "setpriority": (141, 140), "setxattr": (188, 5), "setxattrat": (463, 463),
    "shmget": (29, 194), "socket": (41, 198), "tgkill": (234, 131), "tkill": (200, 130), "truncate": (76, 45),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "utime": (132, None),
    "utimensat": (280, 88), "utimes": (235, None),
}  # fmt: skip


def numbers(machine: str) -> dict[str, int]:
    """Return the numbers of the calls that are known here; empty for another processor."""
    if machine not in ARCHITECTURES:
        return {}
    column = list(ARCHITECTURES).index(machine)
    return {name: number for name, both in _NUMBERS.items() if (number := both[column]) is not None}
