"""The memory of a process."""

from pathlib import Path

from .waiting import until

MEBIBYTE = 1 << 20
TOKENIZER_THREAD = "tokenizer"
"""The thread that loads the tables of the token counter when a process starts."""


def peak_bytes(process):
    """The most that was ever resident, without the pages of the program, which is large without optimisation."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    peak, file_pages = (int(status.split(f"{name}:")[1].split()[0]) for name in ("VmHWM", "RssFile"))
    return peak - file_pages << 10


def reset_peak(process):
    """Waits until the tables of the token counter are loaded, and returns what is resident then. The peak begins there."""
    until(lambda: not is_loading(process), "the tables of the token counter are loaded")
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")
    return peak_bytes(process)


def is_loading(process):
    names = Path(f"/proc/{process.pid}/task").glob("*/comm")
    return any(_read(name) == TOKENIZER_THREAD for name in names)


def _read(path):
    try:
        return path.read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
