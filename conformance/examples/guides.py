"""Programs in documents: those of the guides are the examples themselves, and all that use our clients pass the type checkers."""

import re

from catalogue import EXAMPLES, FOLDER, ROOT

GUIDES = ROOT / "docs/guides/providers"
# A block and the link above it that says which example it is.
INCLUDED = re.compile(r"(?P<head>^\[`examples/(?P<file>[^`]+)`\]\([^)]*\):\n\n```\w+\n)(?P<text>.*?)(?P<end>^```$)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(?P<language>python|ts|typescript)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def faults():
    """What is wrong with the guides: every example is in one, as it is."""
    included = []
    for page in sorted(GUIDES.glob("*.md")):
        for found in INCLUDED.finditer(page.read_text()):
            included.append(found["file"])
            path = FOLDER / found["file"]
            if not path.exists():
                yield f"{page.name} has the program of {found['file']}, which does not exist"
            elif path.read_text() != found["text"]:
                yield f"{page.name} does not have {found['file']} as it is; `run.py --write-guides` copies it"
    for example in EXAMPLES:
        if included.count(example.file) != 1:
            yield f"{example.file} stands in {included.count(example.file)} guides, not in one"


def write():
    """Copies the examples into the guides."""
    for page in sorted(GUIDES.glob("*.md")):
        page.write_text(INCLUDED.sub(lambda found: found["head"] + (FOLDER / found["file"]).read_text() + found["end"], page.read_text()))


def snippets(language, mark):
    """Blocks of all documents that have the mark, by a name for a file; those of the examples are the examples."""
    examples = {example.path.read_text() for example in EXAMPLES}
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "clients").glob("*/README.md"))]
    found = {}
    for page in pages:
        name = re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))
        for number, block in enumerate(BLOCK.finditer(page.read_text()), 1):
            if block["language"][:2] == language[:2] and mark in block["text"] and block["text"] not in examples:
                found[f"{name}_{number}"] = block["text"]
    return found
