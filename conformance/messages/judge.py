#!/usr/bin/env python3
"""judge.py --oracles FOLDER [FILE|-]

Reads JSON lines `{"provider", "kind", "name", "messages"}` and asks `check_messages.check` of the oracle folder about
each. The first conversation of each provider is also judged spoiled, which must be refused: a judge that
accepts everything proves nothing. Prints every refusal, then a table of counts. Exit 0: all valid; 1: something was refused; 2: usage.
"""
from __future__ import annotations

import argparse
import collections
import json
import sys


def refuses_spoiled(oracle, case: dict) -> bool:
    spoiled = [{**message, "role": "nobody", "type": "message", "content": [{"bogus": 1}], "parts": [{"bogus": 1}]} for message in case["messages"]]
    return not all(row["valid"] for row in oracle.check(case["provider"], "request", spoiled))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--oracles", required=True, help="folder that holds check_messages.py")
    parser.add_argument("--show-warnings", action="store_true")
    parser.add_argument("file", nargs="?", default="-")
    args = parser.parse_args(argv)
    sys.path.insert(0, args.oracles)
    import check_messages

    conversations: collections.Counter[str] = collections.Counter()
    entries: collections.Counter[str] = collections.Counter()
    refused: collections.Counter[str] = collections.Counter()
    warned: collections.Counter[str] = collections.Counter()
    stream = sys.stdin if args.file == "-" else open(args.file, encoding="utf-8")
    with stream:
        for line in stream:
            case = json.loads(line)
            provider = case["provider"]
            if not conversations[provider] and not refuses_spoiled(check_messages, case):
                print(f"the oracle of {provider} accepts a message of nobody", file=sys.stderr)
                return 2
            conversations[provider] += 1
            for row in check_messages.check(provider, case.get("kind", "request"), case["messages"]):
                entries[provider] += row["index"] is not None
                warned[provider] += bool(row["warnings"])
                if args.show_warnings and row["warnings"]:
                    print(json.dumps({"name": case.get("name"), **row}, ensure_ascii=False))
                if not row["valid"]:
                    refused[provider] += 1
                    print(json.dumps({"name": case.get("name"), "messages": case["messages"], **row}, ensure_ascii=False))
    print(f"{'provider':<20}{'conversations':>14}{'messages':>10}{'refused':>9}{'warnings':>10}")
    for provider in conversations:
        print(f"{provider:<20}{conversations[provider]:>14}{entries[provider]:>10}{refused[provider]:>9}{warned[provider]:>10}")
    total = sum(conversations.values())
    print(f"{'all':<20}{total:>14}{sum(entries.values()):>10}{sum(refused.values()):>9}{sum(warned.values()):>10}")
    if total == 0:
        print("no conversations were given", file=sys.stderr)
        return 2
    return 1 if sum(refused.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
