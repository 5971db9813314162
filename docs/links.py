"""Follow every link of a built site to a file of it, and to its anchor: ``python docs/links.py build/site``.

(Checkers that are libraries want a server, or give up the rights of the user who runs them.)
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors = {"", "top"}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag in."""
        for name, value in attrs:
            if name in {"href", "src"} and value:
                self.links.append(value)
            elif (name == "id" or (tag, name) == ("a", "name")) and value:
                self.anchors.add(value)


def broken(site: Path) -> list[str]:
    """Give "page: link" for each link within the site that leads nowhere."""
    pages = {file.resolve(): Page(file) for file in site.rglob("*.html") if "_static" not in file.parts}
    faults = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:  # it leads out of the site
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                faults.append(f"{file.relative_to(site.resolve())}: {link}")
    return faults


if __name__ == "__main__":
    faults = broken(Path(sys.argv[1]))
    print(*faults, f"{len(faults)} broken links", sep="\n", file=sys.stderr)
    sys.exit(bool(faults))
