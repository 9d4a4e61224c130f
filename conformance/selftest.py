#!/usr/bin/env python3
"""The judges on trial: good cases must pass and bad cases must be caught, by hand-made conversions and a stand-in binary.

selftest.py [--data DIR] [-v] [names]     (unittest)
"""
from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent / "corpus")]

import accept  # noqa: E402
import capture  # noqa: E402
import hard  # noqa: E402
import kit  # noqa: E402
import lossless  # noqa: E402
import positions  # noqa: E402
import roundtrip  # noqa: E402
import semantics  # noqa: E402

STANDIN = str(kit.HERE / "selftest" / "standin.py")
GIVEN = None  # the folder with the test suite, if it was named


def silent(call, *args):
    """(result, what it printed)"""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        return call(*args), said.getvalue()


def tool(schema, name="t"):
    return {"name": name, "description": "A tool.", "inputSchema": schema}


def obj(props=None, required=(), **more):
    return {"type": "object", "properties": props or {}, **({"required": list(required)} if required else {}), **more}


def chat(schema, description="A tool."):
    return {"type": "function", "function": {"name": "t", "description": description, "parameters": schema}}


def google(schema, description="A tool."):
    return {"name": "t", "description": description, **({} if schema is None else {"parameters": schema})}


def change(path, keyword, fate, value=None, reason="because"):
    return {"path": path, "keyword": keyword, "value": value, "fate": fate, "reason": reason}


@contextlib.contextmanager
def fault(name):
    os.environ["STANDIN_FAULT"] = name
    try:
        yield
    finally:
        del os.environ["STANDIN_FAULT"]


class Data(unittest.TestCase):
    """Which data is judged: a judge without any must not end well."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        checkout = self.folder / "checkout"
        self.enterContext(unittest.mock.patch.object(kit, "HERE", checkout / "conformance"))
        self.enterContext(unittest.mock.patch.dict(os.environ))
        for name in ("CI", "CARGO_TARGET_DIR"):
            os.environ.pop(name, None)
        self.beside, self.captured = self.folder / "shared", checkout / "target" / "data"

    def fill(self, folder):
        (folder / "corpus" / "servers").mkdir(parents=True)

    def check_refused(self, given=None):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as end:
            kit.data_dir(given)
        self.assertEqual(end.exception.code, 2)
        self.assertIn("nothing can be judged", said.getvalue())

    def test_the_larger_set_comes_first(self):
        self.check_refused()
        self.fill(self.captured)
        self.assertEqual(kit.data_dir(None), self.captured)
        self.fill(self.beside)
        self.assertEqual(kit.data_dir(None), self.beside)

    def test_ci_needs_the_larger_set(self):
        os.environ["CI"] = "true"
        self.fill(self.captured)
        self.check_refused()
        self.fill(self.beside)
        self.assertEqual(kit.data_dir(None), self.beside)

    def test_a_folder_that_was_named_stands_alone(self):
        self.fill(self.beside)
        self.check_refused(str(self.folder / "other"))
        self.fill(self.folder / "other")
        self.assertEqual(kit.data_dir(str(self.folder / "other")), self.folder / "other")

    def test_captures_follow_the_target_folder(self):
        os.environ["CARGO_TARGET_DIR"] = str(self.folder / "elsewhere")
        self.fill(self.folder / "elsewhere" / "data")
        self.assertEqual(kit.data_dir(None), self.folder / "elsewhere" / "data")


class Capture(unittest.TestCase):
    """Servers that are captured: what they list in pages, among noise; and those that do not answer."""

    SERVER = """#!{python}
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    print("noise")
    print(json.dumps({{"jsonrpc": "2.0", "id": message.get("id"), "method": "ping"}}))
    if message["method"] == "initialize":
        result = {{"serverInfo": {{"name": sys.argv[1]}}, "protocolVersion": "1", "capabilities": {{}}}}
    elif message["method"] != "tools/list":
        continue
    elif "cursor" in message["params"]:
        result = {{"tools": [{{"name": "second", "home": os.listdir(os.environ["HOME"])}}]}}
    else:
        result = {{"tools": [{{"name": "first"}}], "nextCursor": "2"}}
    print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)
"""

    def captured(self, text, **more):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = folder / "python" / "bin" / "fake"
        program.parent.mkdir(parents=True)
        program.write_text(text.format(python=sys.executable))
        program.chmod(0o755)
        return capture.capture({"registry": "pypi", "package": "fake", "version": "1.0", **more}, [], folder)

    def test_all_pages_among_noise(self):
        held, problem = self.captured(self.SERVER, args=["me"])
        self.assertEqual((held, problem), ({
            "server": "fake", "registry": "pypi", "package": "fake", "version": "1.0", "serverInfo": {"name": "me"},
            "protocolVersion": "1", "tools": [{"name": "first"}, {"name": "second", "home": []}]}, None))

    def test_servers_that_list_nothing(self):
        for text, part in [("#!/bin/sh\necho wrong >&2\n", "wrong"), ("no program", "OSError"),
                           (self.SERVER.replace('[{{"name": "first"}}], "nextCursor": "2"', "[]"), "lists no tools")]:
            held, problem = self.captured(text, args=["me"])
            self.assertIsNone(held)
            self.assertIn(part, problem)

    def test_the_list_has_enough_servers_of_both_registries(self):
        servers, _ = capture.read_list()
        self.assertEqual(len({s["package"] for s in servers}), len(servers))
        self.assertGreater(len(servers), capture.LEAST)
        self.assertEqual({s["registry"] for s in servers}, {"npm", "pypi"})


class LineContract(unittest.TestCase):
    GOOD = {"name": "t", "tool": {}, "quarantine": None, "changes": [change("", "title", "dropped")], "tokens": {"before": 1, "after": 1}}

    def test_rows(self):
        for broken, part in [({}, None), ({"name": "u"}, "answers for"), ({"tool": None}, "exactly one"),
                             ({"quarantine": "why"}, "exactly one"), ({"tool": None, "quarantine": " "}, "without a reason"),
                             ({"changes": None}, "list of changes"), ({"changes": [{"path": ""}]}, "incomplete"),
                             ({"changes": [change("", "x", "lost")]}, "unknown fate"), ({"tokens": {}}, "token")]:
            found = kit.row_fault(tool({}), {**self.GOOD, **broken})
            self.assertTrue(found is None if part is None else part in found, (broken, found))

    def test_missing_lines_are_a_fault(self):
        with fault("short"), self.assertRaises(kit.Fault):
            kit.convert(STANDIN, "openai-chat", [tool(obj()), tool(obj())])

    def test_equality(self):
        for a, b, equal in [(1, 1.0, True), (True, 1, False), ({"a": [1]}, {"a": [1.0]}, True), (None, False, False), ([], {}, False)]:
            self.assertEqual(kit.same(a, b), equal, (a, b))


class Accept(unittest.TestCase):
    def run_on(self, dialect, *schemas):
        pairs = [("server", tool(s, f"t{i}")) for i, s in enumerate(schemas)]
        return accept.run(STANDIN, pairs, [dialect], 1)

    def test_good_tool_passes(self):
        results = self.run_on("openai-chat", obj({"a": {"type": "string"}}))
        self.assertEqual(silent(accept.verdict, results, 3)[0], 0)

    def test_invalid_tool_is_caught(self):
        code, said = silent(accept.verdict, self.run_on("openai-chat", obj({"a": {"type": "array"}})), 3)
        self.assertEqual(code, 1)
        self.assertIn("array schema missing items", said)

    def test_what_is_refused_before_is_counted(self):
        before = self.run_on("openai-chat", obj({"a": {"type": "array"}}), obj({}))
        after = self.run_on("openai-chat", obj({}), obj({}))
        row = silent(accept.compare, before, after)[1].splitlines()[-2].split()
        self.assertEqual(row, ["openai-chat", "2", "1", "50.0%", "2", "100.0%"])

    def test_limits_of_one_request_are_excepted(self):
        wide = obj({f"p{i}": {"type": "string"} for i in range(25)}, additionalProperties=False)
        code, said = silent(accept.verdict, self.run_on("anthropic-strict", wide), 3)
        self.assertEqual(code, 0, said)
        self.assertIn("25 optional parameters", said)

    def test_json_text_is_seen_without_being_told(self):
        original = obj({"a": obj({"b": {"type": "string"}}), "c": {"type": "string"}})
        lowered = obj({"a": {"type": "string", "description": "JSON"}, "c": {"type": "string"}})
        self.assertEqual(accept.text_properties(original, lowered, []), (3, 2))
        self.assertEqual(accept.text_properties(original, original, []), (3, 0))
        reported = [change("/properties/a", "properties", "encoded", reason="carried as JSON text")]
        self.assertEqual(accept.text_properties(original, original, reported), (3, 1))

    def test_only_annotations_may_be_dropped(self):
        for keyword, allowed in [("$schema", True), ("x-order", True), ("minimum", False), ("description", False), ("default", False)]:
            self.assertEqual(accept.may_drop(keyword, "openai-chat"), allowed, keyword)
        self.assertTrue(accept.may_drop("default", "argo"))

    def test_kinds_of_encoding(self):
        for reason, kind in [("carried as JSON text", "JSON text"), ("the value is a JSON string", "JSON text"),
                             ("map said as key/value pairs; not in JSON Schema's subset", "map said as key/value pairs"),
                             ("enum of 3 numbers as strings", "enum of … numbers as strings")]:
            self.assertEqual(accept.encoding(reason), kind)

    def test_property_called_properties(self):
        self.assertEqual(accept.property_paths(obj({"properties": obj({"x": {}})})),
                         ["/properties/properties", "/properties/properties/properties/x"])


class Lossless(unittest.TestCase):
    """Each case: original, lowered, changes -> keywords missing, parameters forced."""

    def check(self, original, lowered, changes=(), missing=(), forced=0, dialect="openai-chat", said="A tool."):
        wrap = google if dialect in ("gemini", "vertex") else chat
        seen = lossless.judge(dialect, original, wrap(lowered, said), list(changes))
        self.assertEqual(sorted((p, k) for p, k, *_ in seen["missing"]), sorted(missing), seen)
        self.assertEqual(len(seen["forced"]), forced, seen["forced"])
        self.assertEqual(seen["keywords"], seen["present"] + sum(seen["fates"].values()) + sum(seen["above"].values())
                         + len([m for m in seen["missing"] if "property is gone" not in m[3]]))
        return seen

    LIMITED = obj({"a": {"type": "string", "minLength": 5, "format": "uri"}})
    PLAIN = obj({"a": {"type": "string"}})

    def test_identity_keeps_all(self):
        self.check(self.LIMITED, self.LIMITED)

    def test_silent_loss(self):
        self.check(self.LIMITED, self.PLAIN, missing=[("/properties/a", "minLength"), ("/properties/a", "format")])

    def test_changed_value_is_a_loss(self):
        self.check(self.LIMITED, obj({"a": {"type": "string", "minLength": 4, "format": "uri"}}), missing=[("/properties/a", "minLength")])

    def test_described_needs_the_text(self):
        claims = [change("/properties/a", "minLength", "described", 5), change("/properties/a", "format", "described", "uri")]
        self.check(self.LIMITED, self.PLAIN, claims, missing=[("/properties/a", "minLength"), ("/properties/a", "format")])
        for text in ('{"format":"uri","minLength":5}', "Constraints: text must be at least 5 characters long; must be a valid URL",
                     "IMPORTANT: minimum 5 characters, must be a valid URL"):
            self.check(self.LIMITED, obj({"a": {"type": "string", "description": text}}), claims)
        self.check(self.LIMITED, obj({"a": {"type": "string", "description": "15 characters of uri"}}), claims,
                   missing=[("/properties/a", "minLength")])

    def test_kept_covers_nothing(self):
        self.check(self.LIMITED, self.PLAIN, [change("/properties/a", "minLength", "kept"), change("/properties/a", "format", "kept")],
                   missing=[("/properties/a", "minLength"), ("/properties/a", "format")])

    def test_wrong_path_covers_nothing(self):
        self.check(obj({"a": {"type": "integer", "minimum": 1}}), obj({"a": {"type": "integer"}}),
                   [change("/properties/b", "minimum", "rewritten")], missing=[("/properties/a", "minimum")])

    def test_dropped_only_annotations(self):
        original = obj({"a": {"type": "string", "title": "A", "default": "x"}})
        drops = [change("/properties/a", "title", "dropped"), change("/properties/a", "default", "dropped")]
        self.check(original, self.PLAIN, drops, missing=[("/properties/a", "default")])

    def test_lost_property(self):
        self.check(obj({"a": {"type": "string"}, "b": {}}), obj({"a": {"type": "string"}}), missing=[("", "properties")])
        self.check(obj({"a": {"type": "string"}, "b": {"type": "null"}}), obj({"a": {"type": "string"}}), missing=[("/properties/b", "type")])

    def test_inlined_reference(self):
        original = obj({"a": {"$ref": "#/$defs/N"}, "b": {"$ref": "#/$defs/N"}}, **{"$defs": {"N": {"type": "integer", "minimum": 1}}})
        reported = [change("", "$defs", "rewritten"), change("/properties/a", "$ref", "rewritten"), change("/properties/b", "$ref", "rewritten")]
        full, bare = {"type": "integer", "minimum": 1}, {"type": "integer"}
        self.check(original, obj({"a": full, "b": full}), reported, dialect="gemini")
        self.check(original, obj({"a": full, "b": full}), missing=[("", "$defs"), ("/properties/a", "$ref"), ("/properties/b", "$ref")])
        self.check(original, obj({"a": bare, "b": bare}), reported, missing=[("/$defs/N", "minimum")])

    def test_kept_reference(self):
        original = obj({"a": {"$ref": "#/$defs/N"}}, **{"$defs": {"N": obj({"kid": {"$ref": "#/$defs/N"}})}})
        self.check(original, original)

    def test_nullable_union(self):
        original = obj({"a": {"anyOf": [{"type": "string", "format": "uri"}, {"type": "null"}]}})
        reported = [change("/properties/a", "anyOf", "rewritten")]
        self.check(original, obj({"a": {"type": "STRING", "format": "uri", "nullable": True}}), reported, dialect="gemini")
        self.check(original, obj({"a": {"type": "STRING", "nullable": True}}), reported, dialect="gemini",
                   missing=[("/properties/a/anyOf/0", "format")])

    def test_null_added_for_an_optional(self):
        original = obj({"a": {"type": "string", "enum": ["x"]}}, title="T")
        lowered = obj({"a": {"type": ["string", "null"], "enum": ["x", None]}}, ["a"], title="T", additionalProperties=False)
        self.check(original, lowered)

    def test_forced_optional(self):
        self.check(self.PLAIN, obj({"a": {"type": "string"}}, ["a"]), forced=1)
        for way in ({"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string", "nullable": True}):
            self.check(self.PLAIN, obj({"a": way}, ["a"]))
        deep = obj({"o": obj({"x": {"type": "integer"}, "y": {"type": "integer"}}, ["x"])}, ["o"])
        self.check(deep, obj({"o": obj({"x": {"type": "integer"}, "y": {"type": "integer"}}, ["x", "y"])}, ["o"]), forced=1,
                   changes=[change("/properties/o", "required", "rewritten")])

    def test_required_in_a_branch_is_not_forced(self):
        branches = [{"properties": {"id": {"type": "integer"}}, "required": ["id"]}, {"properties": {"n": {"type": "string"}}, "required": ["n"]}]
        original = obj({"t": {"type": "object", "properties": {"note": {"type": "string"}}, "anyOf": branches}})
        self.check(original, original)

    def test_required_by_allof_is_not_forced(self):
        original = {"type": "object", "allOf": [obj({"a": {"type": "string"}}), {"required": ["a"]}]}
        reported = [change("", "allOf", "rewritten")]
        self.check(original, obj({"a": {"type": "string"}}, ["a"]), reported)

    def test_encoded_map_covers_its_values(self):
        original = obj({"m": {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}})
        pair = obj({"key": {"type": "string"}, "value": {"type": "string"}}, ["key", "value"])
        lowered = obj({"m": {"type": "array", "items": pair}})
        reported = [change("/properties/m", "additionalProperties", "encoded"), change("/properties/m", "type", "encoded")]
        seen = self.check(original, lowered, reported, dialect="gemini")
        self.assertEqual([k for _, k, _ in seen["unseen"]], ["minLength"])
        self.check(original, lowered, missing=[("/properties/m", "additionalProperties"), ("/properties/m", "type"),
                                               ("/properties/m/additionalProperties", "type"), ("/properties/m/additionalProperties", "minLength")])

    def test_json_text_covers_its_tree(self):
        original = obj({"o": obj({"x": {"type": "integer", "minimum": 3}})})
        lowered = obj({"o": {"type": "string"}})
        self.check(original, lowered, [change("/properties/o", "type", "encoded"), change("/properties/o", "properties", "encoded")])

    def test_described_structure_needs_its_json(self):
        original = obj({"a": {"type": "string", "not": {"enum": ["root"]}}})
        reported = [change("/properties/a", "not", "described", {"enum": ["root"]})]
        self.check(original, obj({"a": {"type": "string", "description": 'Not allowed: {"enum":["root"]}'}}), reported)
        self.check(original, self.PLAIN, reported, missing=[("/properties/a", "not"), ("/properties/a/not", "enum")])

    def test_renamed_key(self):
        original = obj({"user.name": {"type": "string", "minLength": 2}, "b": {"type": "integer"}}, ["user.name"])
        self.check(original, obj({"user_name": {"type": "string", "minLength": 2}, "b": {"type": "integer"}}, ["user_name"]))
        self.check(original, obj({"user_name": {"type": "string"}, "b": {"type": "integer"}}, ["user_name"]),
                   missing=[("/properties/user.name", "minLength")])

    def test_what_the_provider_drops_is_absent(self):
        original = obj({"a": {"type": "integer", "minimum": 1}})
        self.check(original, original, dialect="ollama", missing=[("/properties/a", "minimum")])
        lowered = obj({"a": {"type": "integer", "minimum": 1, "description": '{"minimum":1}'}})
        self.check(original, lowered, [change("/properties/a", "minimum", "described", 1)], dialect="ollama")

    def test_no_arguments_no_schema(self):
        self.check({"type": "object", "properties": {}, "$schema": "x"}, None, [change("", "$schema", "dropped")], dialect="gemini")

    def test_corpus_findings_reach_the_exit_code(self):
        for planted, word in (("drop", "MISSING"), ("force", "FORCED")):
            with fault(planted):
                dialect, seen = lossless.work((STANDIN, "openai-chat", [("s", tool(obj({"a": {"type": "integer", "minimum": 1}})))]))
            code, said = silent(lossless.verdict, {dialect: seen}, 3)
            self.assertEqual(code, 1, said)
            self.assertIn(word, said)


class Positions(unittest.TestCase):
    def test_references(self):
        doc = positions.Document({"$defs": {"a/b c": {"type": "string"}, "n": {"$anchor": "x"}, "i": {"$id": "http://h/i", "items": {}}}})
        for ref, path in [("#/$defs/a~1b%20c", "/$defs/a~1b c"), ("#x", "/$defs/n"), ("http://h/i", "/$defs/i"),
                          ("http://h/i#/items", "/$defs/i/items"), ("#", ""), ("#/nothing", None), ("http://h/other", None)]:
            found = doc.resolve(ref)
            self.assertEqual(found and found[0], path, ref)

    def test_types(self):
        doc = positions.Document({"$defs": {"s": {"type": ["string", "null"]}}})
        for schema, kinds in [({"type": "string"}, {"string"}), ({"$ref": "#/$defs/s"}, {"string", "null"}), ({"enum": [1, None]}, {"integer", "number", "null"}),
                              ({"anyOf": [{"type": "array"}, {"type": "object"}]}, {"array", "object"}), (False, set()), ({}, set(positions.TYPES))]:
            self.assertEqual(positions.types(schema, doc), kinds, schema)


class Semantics(unittest.TestCase):
    """Each row: dialect, lowered tool, arguments, admitted?"""

    def check(self, dialect, lowered, arguments, admitted):
        got, why = semantics.accepts(semantics.validator(semantics.admits(dialect, lowered)), arguments)
        self.assertEqual(got, admitted, (dialect, arguments, why))

    def test_google(self):
        self.check("gemini", google(None), {}, True)
        self.check("gemini", google(None), {"a": 1}, False)
        one = obj({"a": {"type": "STRING", "nullable": True, "maxLength": "3"}})
        for dialect in ("gemini", "vertex"):
            self.check(dialect, google(one), {"a": None}, True)
            self.check(dialect, google(one), {"a": "abc"}, True)
            self.check(dialect, google(one), {"a": "abcd"}, False)
            self.check(dialect, google(one), {"b": 1}, False)
        opened = obj({}, additionalProperties={"type": "INTEGER"})
        self.check("vertex", google(opened), {"b": 1}, True)
        self.check("vertex", google(opened), {"b": "x"}, False)
        self.check("gemini", google(opened), {"b": 1}, False)
        shared = obj({"a": {"ref": "#/defs/N"}}, defs={"N": {"type": "INTEGER"}})
        self.check("vertex", google(shared), {"a": 1}, True)
        self.check("vertex", google(shared), {"a": "x"}, False)
        self.check("gemini-json", {"name": "t", "parametersJsonSchema": obj({"a": {"type": "string", "maxLength": 1}})}, {"a": "long"}, True)

    def test_others(self):
        limited = obj({"a": {"type": "string", "maxLength": 1}, "l": {"type": "array", "items": {"type": "string", "maxLength": 1}}},
                      additionalProperties=False)
        self.check("ollama", chat(limited), {"a": "long", "b": 1}, True)
        self.check("ollama", chat(limited), {"l": ["long"]}, False)  # what stands under items is passed on whole
        spelled = {"type": "object", "properties": {"a": {"type": "integer", "description": "Write (null) for null"}, "b": {"type": "integer"}}}
        self.check("ollama", chat(spelled), {"a": "(null)"}, True)
        self.check("ollama", chat(spelled), {"a": "none"}, False)
        self.check("ollama", chat(spelled), {"b": "(null)"}, False)
        self.check("openai-chat", chat(limited), {"a": "long"}, False)
        self.check("openai-chat", chat(limited), {"b": 1}, False)
        self.check("openai-chat", chat(obj({"a": {"type": "string", "nullable": True}})), {"a": None}, False)
        self.check("anthropic", {"name": "t", "input_schema": obj()}, {"x": 1}, True)
        self.check("bedrock", {"toolSpec": {"name": "t", "inputSchema": {"json": obj({"a": {"type": "integer"}})}}}, {"a": "x"}, False)
        self.check("mistral", chat(obj({"a": {"type": "array", "items": [{"type": "string"}], "additionalItems": False}})), {"a": ["x", 1]}, False)
        self.check("mistral", {"type": "function", "function": {"name": "t"}}, {}, False)

    def test_every_dialect_has_semantics(self):
        for dialect in kit.DIALECTS:
            self.assertTrue(semantics.rules(dialect)["at"])


class RoundTrip(unittest.TestCase):
    def test_rebase(self):
        for draft, schema, wanted in [
            ("draft7", {"$ref": "#"}, {"$ref": "#/properties/value"}),
            ("draft7", {"$ref": "#/definitions/a"}, {"$ref": "#/properties/value/definitions/a"}),
            ("draft2020-12", {"$ref": "#anchor"}, {"$ref": "#anchor"}),
            ("draft2020-12", {"$id": "http://x/", "items": {"$ref": "#/a"}}, {"$id": "http://x/", "items": {"$ref": "#/a"}}),
            ("draft7", {"$id": "#a", "$ref": "#/b"}, {"$id": "#a", "$ref": "#/properties/value/b"}),
            ("draft7", {"$id": "http://x/", "$ref": "#/b"}, {"$id": "http://x/", "$ref": "#/properties/value/b"}),
            ("draft7", {"properties": {"$ref": {"$ref": "#/x"}}}, {"properties": {"$ref": {"$ref": "#/properties/value/x"}}}),
            ("draft7", {"enum": [{"$ref": "#/x"}], "const": {"$ref": "#"}}, {"enum": [{"$ref": "#/x"}], "const": {"$ref": "#"}}),
        ]:
            self.assertEqual(roundtrip.rebase(schema, draft), wanted)

    def test_remote(self):
        for schema, away in [({"$ref": "#/a"}, False), ({"$ref": "http://x/y"}, True), ({"$id": "http://x/", "$ref": "y"}, True),
                             ({"$id": "http://x/", "$defs": {"a": {"$id": "y"}}, "$ref": "y#/z"}, False), ({"enum": [{"$ref": "http://x"}]}, False)]:
            self.assertEqual(roundtrip.remote(schema, "draft2020-12"), away, schema)

    def test_wrapping_keeps_every_verdict_of_the_main_suite(self):
        """With the suite's own validator, the wrapped schema says of the wrapped instance what the suite says of the bare one."""
        cases, schemas = roundtrip.suite(kit.data_dir(GIVEN))
        exclusions = roundtrip.Exclusions(cases, schemas, kit.load_toml("roundtrip-exclusions.toml"))
        self.assertEqual(exclusions.faults, [])
        checkers, wrong, count = {}, [], 0
        for case in cases:
            if case.optional or exclusions.category(case, "openai-chat"):
                continue
            count += 1
            if case.number not in checkers:
                checkers[case.number] = semantics.validator(case.tool["inputSchema"])
            ok, why = semantics.accepts(checkers[case.number], case.value)
            if ok != case.valid and "bad escape" not in why:  # Python's re has no \p
                wrong.append((case.label, why))
        self.assertEqual(wrong, [])
        self.assertGreater(count, 2000)

    def case(self, value, valid, schema=None):
        return roundtrip.Case("d", "f", "g", "t", 0, roundtrip.wrap(schema or {"type": "string"}, "draft2020-12"), {"value": value}, valid, False)

    def judged(self, case):
        return roundtrip.run_dialect(STANDIN, "openai-chat", [case])[0][1]

    def test_good(self):
        self.assertIsNone(self.judged(self.case("x", True)))
        self.assertIsNone(self.judged(self.case(1, False)))

    def test_narrowed_schema_is_caught(self):
        with fault("narrow"):
            self.assertIn("lowered schema refuses", self.judged(self.case("x", True)))

    def test_decode_that_checks_nothing_is_caught(self):
        with fault("mute"):
            self.assertIn("invalid instance accepted", self.judged(self.case(1, False)))

    def test_each_fault_of_a_valid_case(self):
        row = {"tool": chat(obj({"value": {"type": "string"}})), "quarantine": None}
        checker = semantics.validator(semantics.admits("openai-chat", row["tool"]))
        case, good, bad = self.case("x", True), {"arguments": {"value": "x"}}, {"error": {"message": "no"}}
        for r, e, d, part in [(row, bad, None, "encode refuses"), (row, good, bad, "decode reports"),
                              (row, good, {"arguments": {"value": "y"}}, "came back different"),
                              ({"tool": None, "quarantine": "why"}, bad, None, "quarantined"),
                              (row, {"arguments": {"value": 1}}, good, "lowered schema refuses")]:
            self.assertIn(part, roundtrip.judge(case, r, checker, e, d))

    def test_exclusions_are_checked(self):
        case = roundtrip.Case("draft7", "f.json", "g", "t", 0, {}, {}, True, False)
        schemas = {("draft7", "f.json", "g"): {"$ref": "#/a"}}
        for entry, part in [({"draft": "draft7", "file": "f.json", "group": "g", "category": "remote", "reason": "r"}, "every reference is local"),
                            ({"draft": "draft7", "file": "f.json", "group": "other", "category": "other", "reason": "r"}, "matches no case"),
                            ({"draft": "draft7", "file": "f.json", "group": "g", "category": "other"}, "without a reason"),
                            ({"draft": "draft7", "file": "f.json", "group": "g", "category": "other", "reason": "r"}, None)]:
            faults = roundtrip.Exclusions([case], schemas, {"exclude": [entry]}).faults
            self.assertTrue(not faults if part is None else any(part in f for f in faults), (entry, faults))

    def test_too_many_other_exclusions_are_caught(self):
        none = roundtrip.Exclusions([], {}, {})
        seen = {"cases": 100, "held": 97, "remote": 0, "vocabulary": 0, "other": 3, "failures": [], "optional": 0, "optional_held": 0, "optional_failures": []}
        self.assertEqual(silent(roundtrip.verdict, {"d": seen}, none, 3, False)[0], 1)
        self.assertEqual(silent(roundtrip.verdict, {"d": {**seen, "held": 99, "other": 1}}, none, 3, False)[0], 0)


class Hard(unittest.TestCase):
    def test_every_row_is_covered(self):
        held = hard.load()
        self.assertEqual(hard.uncovered(held), [])
        self.assertGreaterEqual(len(held), 100)
        for name, case in held.items():
            self.assertTrue(case["purpose"] and "\n" not in case["purpose"], name)
        self.assertTrue(hard.uncovered({"one": {"covers": ["catalogue 1", "catalogue 99"]}}))

    def test_sample_arguments_are_what_they_say(self):
        wrong = []
        for name, case in hard.load().items():
            if "tool" not in case or case.get("malformed"):
                continue
            checker = semantics.validator(case["tool"]["inputSchema"])
            for valid in (True, False):
                for value in case["valid" if valid else "invalid"]:
                    ok, why = semantics.accepts(checker, value)
                    if ok != valid and "bad escape" not in why and "unknown extension" not in why:
                        wrong.append((name, value, why))
        self.assertEqual(wrong, [])

    def test_findings(self):
        held = {"good": {"covers": [], "purpose": "p", "tool": tool(obj({"a": {"type": "string"}}), "good"), "valid": [{"a": "x"}], "invalid": [{"a": 1}]},
                "bad": {"covers": [], "purpose": "p", "tool": tool(obj({"a": {"type": "array"}}), "bad"), "valid": [], "invalid": []},
                "pair": {"covers": [], "purpose": "p", "tools": [tool(obj(), "same"), tool(obj(), "same")]}}
        seen = hard.run_dialect(STANDIN, "openai-chat", held)
        self.assertEqual((seen["tools"], seen["valid"], seen["arguments"], seen["held"]), (3, 1, 2, 2), seen)
        self.assertTrue(any("array schema missing items" in f for f in seen["failures"]))
        self.assertTrue(any("duplicate tool name" in f for f in seen["failures"]))
        self.assertEqual(silent(hard.verdict, {"openai-chat": seen}, [], 3)[0], 1)


if __name__ == "__main__":
    if "--data" in sys.argv:
        at = sys.argv.index("--data")
        GIVEN = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    unittest.main()
