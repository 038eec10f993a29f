"""The ways in which a file changes under a process that reads it: each a function of the path and the new text."""

import os


def in_place(path, text):
    path.write_text(text)


def renamed_over(path, text):
    """As editors and deployments do."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.replace(path)


def deleted_and_made_again(path, text):
    path.unlink(missing_ok=True)
    path.write_text(text)


def in_halves(path, text):
    """Written slowly: what stands there in between says something else, or nothing that can be read."""
    with path.open("w") as file:
        for half in (text[: len(text) // 2], text[len(text) // 2 :]):
            file.write(half)
            file.flush()


def linked(path, text):
    """As Kubernetes mounts a ConfigMap: the path leads through `..data`, a link that is turned over in one step."""
    folder = path.parent
    versions = [name for name in os.listdir(folder) if name.startswith("..version-")]
    version = folder / f"..version-{len(versions)}"
    version.mkdir()
    (version / path.name).write_text(text)
    turned = folder / "..data.new"
    turned.symlink_to(version.name)
    turned.replace(folder / "..data")
    if not path.is_symlink():
        path.unlink(missing_ok=True)
        path.symlink_to(f"..data/{path.name}")


WAYS = [in_place, renamed_over, deleted_and_made_again, in_halves, linked]
