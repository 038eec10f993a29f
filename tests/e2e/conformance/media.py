"""Contents of the kinds that the suites look for."""

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="


def text(words):
    return {"type": "text", "text": words}


def image():
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def audio():
    return {"type": "audio", "data": WAV, "mimeType": "audio/wav"}


def embedded(uri, words):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": words}}


def result(*contents):
    return {"content": list(contents)}
