#!/usr/bin/env python3
"""Checks the links inside the project: README, changelog and the book.

A link to a file must lead to a tracked place, a link with an anchor to a heading of that page, every page of the book
must be in SUMMARY.md and the other way round. Links to the network are not followed.
"""

import pathlib
import re
import sys
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent
BOOK = ROOT / "docs" / "src"
SUMMARY = BOOK / "SUMMARY.md"

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]^]+\]:\s*<?(\S+?)>?(?:\s|$)", re.M)
INCLUDE = re.compile(r"\{\{#include\s+([^}\s:]+)[^}]*\}\}")


def prose(text):
    """The text without code, in which nothing is a link or a heading; line numbers stay."""

    def blank(match):
        return "\n" * match.group(0).count("\n")

    text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
    text = re.sub(r"^ {0,3}(```+|~~~+)[^\n]*\n.*?^ {0,3}\1[`~]*\s*$", blank, text, flags=re.M | re.S)
    return text


def without_code_spans(text):
    return re.sub(r"(`+)(?:(?!\1).)+?\1", "", text)


def anchors(path, seen=()):
    """The anchors of the headings of a page, as mdBook and most forges make them."""
    text = path.read_text(encoding="utf-8")
    found, count = set(), {}
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", prose(text), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = "".join(
            c for c in unicodedata.normalize("NFC", heading).lower().replace(" ", "-") if c.isalnum() or c in "-_"
        )
        number = count.get(slug, 0)
        count[slug] = number + 1
        found.add(f"{slug}-{number}" if number else slug)
    for name in INCLUDE.findall(text):
        target = (path.parent / name).resolve()
        if target.is_file() and target not in seen:
            found |= anchors(target, (*seen, target))
    return found


def links(text):
    for pattern in (LINK, REFERENCE):
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match.group(1)


def check(page, base, problems):
    """Checks the links of `page` as they are seen from a page at `base`."""
    name = page.relative_to(ROOT)
    text = page.read_text(encoding="utf-8")
    for include in INCLUDE.findall(text):
        target = (page.parent / include).resolve()
        if not target.is_file():
            problems.append(f"{name}: includes `{include}`, which does not exist")
        elif target.suffix == ".md":
            check(target, base, problems)
    for line, link in links(without_code_spans(prose(text))):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (base.parent / path).resolve() if path else base
        where = f"{name}:{line}: `{link}`"
        if base != page:
            where += f" (as included in {base.relative_to(ROOT)})"
        if not target.exists():
            problems.append(f"{where} leads nowhere")
        elif BOOK in base.parents and BOOK not in target.parents:
            problems.append(f"{where} leaves the book: such a link is dead in the built pages")
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            problems.append(f"{where} names a heading that does not exist")


def main():
    pages = sorted(BOOK.rglob("*.md"))
    problems = []
    for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), *pages]:
        check(page, page, problems)
    listed = {(BOOK / link.partition("#")[0]).resolve() for _, link in links(SUMMARY.read_text(encoding="utf-8"))}
    for page in pages:
        if page != SUMMARY and page not in listed:
            problems.append(f"{page.relative_to(ROOT)}: not in SUMMARY.md")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{len(problems)} broken links")
    print(f"{len(pages)} pages of the book and the pages beside it: all links lead somewhere")


if __name__ == "__main__":
    main()
