"""The packages. Each module has `missing()`, `build(release)` and `smoke(release)`."""

from . import deb, homebrew, links, mcpb, npm, registry, wheel

# The registry entry has the digest of the bundle, so it comes after it.
FORMATS = {
    "deb": deb, "npm": npm, "wheel": wheel, "mcpb": mcpb, "links": links, "registry": registry, "homebrew": homebrew,
}
