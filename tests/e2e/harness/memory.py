"""The memory of a process."""

from pathlib import Path

MEBIBYTE = 1 << 20


def peak_bytes(process):
    """The most that was ever resident, without the pages of the program, which is large without optimisation."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    peak, file_pages = (int(status.split(f"{name}:")[1].split()[0]) for name in ("VmHWM", "RssFile"))
    return peak - file_pages << 10


def reset_peak(process):
    """Returns what is resident now. The peak begins here."""
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")
    return peak_bytes(process)
