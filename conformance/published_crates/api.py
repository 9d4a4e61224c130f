"""The public interface of a crate as lines of text, from rustdoc's JSON: one line for each item that a user of the crate can name."""

import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
# The format that `render_type` and its companions read; rustdoc names the one that it writes.
FORMAT = 57
# Traits that every type has, or that say nothing about what callers write.
BLANKET = {"StructuralPartialEq", "Freeze", "RefUnwindSafe", "Unpin", "UnwindSafe", "UnsafeUnpin"}


class OtherFormat(Exception):
    """This toolchain's rustdoc writes a format that is not read here."""


def rustdoc_json(package, target):
    """What rustdoc says about a package of this workspace."""
    command = ["cargo", "rustdoc", "--quiet", "--locked", "--package", package, "--lib", "--target-dir", str(target)]
    command += ["--", "-Zunstable-options", "--output-format", "json"]
    # The JSON is unstable; the toolchain is pinned by its format instead.
    subprocess.run(command, check=True, cwd=HERE.parent.parent, env={**os.environ, "RUSTC_BOOTSTRAP": "1"})
    document = json.loads((target / "doc" / f"{package.replace('-', '_')}.json").read_text())
    if document["format_version"] != FORMAT:
        raise OtherFormat(f"rustdoc writes format {document['format_version']}, and {FORMAT} is read here")
    return document


def render_arguments(arguments):
    """`<T, 'a, Item = X>`, or nothing."""
    if not arguments:
        return ""
    if "parenthesized" in arguments:
        given = arguments["parenthesized"]
        output = f" -> {render_type(given['output'])}" if given["output"] else ""
        return f"({', '.join(map(render_type, given['inputs']))}){output}"
    given = arguments.get("angle_bracketed", {"args": [], "constraints": []})
    words = [render_argument(argument) for argument in given["args"]]
    for constraint in given["constraints"]:
        binding = constraint["binding"]
        if "equality" in binding:
            words.append(f"{constraint['name']} = {render_term(binding['equality'])}")
        else:
            words.append(f"{constraint['name']}: {render_bounds(binding['constraint'])}")
    return f"<{', '.join(words)}>" if words else ""


def render_argument(argument):
    if isinstance(argument, str):
        return argument
    kind, value = next(iter(argument.items()))
    return {"type": render_type, "lifetime": str, "const": lambda const: const["expr"]}[kind](value)


def render_term(term):
    return render_type(term["type"]) if "type" in term else term["constant"]["expr"]


def render_bounds(bounds):
    words = []
    for bound in bounds:
        if "trait_bound" in bound:
            bound = bound["trait_bound"]
            modifier = {"none": "", "maybe": "?"}.get(bound["modifier"], bound["modifier"])
            words.append(modifier + render_path(bound["trait"]))
        elif "outlives" in bound:
            words.append(bound["outlives"])
        else:
            words.append(f"use<{', '.join(map(render_captured, bound['use']))}>")
    return " + ".join(words)


def render_captured(captured):
    return captured if isinstance(captured, str) else next(iter(captured.values()))


def render_path(path):
    # How the path is written depends on imports; the last name does not.
    return path["path"].rsplit("::", 1)[-1] + render_arguments(path["args"])


def render_type(given):
    """A type as it is written, with the last name of each path."""
    kind, value = next(iter(given.items()))
    match kind:
        case "primitive" | "generic":
            return value
        case "resolved_path":
            return render_path(value)
        case "borrowed_ref":
            lifetime = f"{value['lifetime']} " if value["lifetime"] else ""
            return f"&{lifetime}{'mut ' if value['is_mutable'] else ''}{render_type(value['type'])}"
        case "tuple":
            inner = ", ".join(map(render_type, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case "slice":
            return f"[{render_type(value)}]"
        case "array":
            return f"[{render_type(value['type'])}; {value['len']}]"
        case "impl_trait":
            return f"impl {render_bounds(value)}"
        case "dyn_trait":
            traits = [render_path(one["trait"]) for one in value["traits"]]
            return "dyn " + " + ".join(traits + ([value["lifetime"]] if value["lifetime"] else []))
        case "qualified_path":
            of = f"{render_type(value['self_type'])} as {render_path(value['trait'])}" if value["trait"] else ""
            return f"<{of}>::{value['name']}" if of else f"{render_type(value['self_type'])}::{value['name']}"
        case "function_pointer":
            return f"fn{render_signature(value['sig'])}"
        case "raw_pointer":
            return f"*{'mut' if value['is_mutable'] else 'const'} {render_type(value['type'])}"
    raise OtherFormat(f"a type of the kind `{kind}` is not known here")


def render_generics(generics):
    """`<T: Bound>` and ` where …`; what `impl Trait` stands for is left out."""
    words, where = [], []
    for parameter in generics["params"]:
        kind, value = next(iter(parameter["kind"].items()))
        if kind == "type":
            if value["is_synthetic"]:
                continue
            bounds = render_bounds(value["bounds"])
            words.append(parameter["name"] + (f": {bounds}" if bounds else ""))
        elif kind == "lifetime":
            words.append(parameter["name"] + (f": {' + '.join(value['outlives'])}" if value["outlives"] else ""))
        else:
            words.append(f"const {parameter['name']}: {render_type(value['type'])}")
    for predicate in generics["where_predicates"]:
        kind, value = next(iter(predicate.items()))
        if kind == "bound_predicate":
            where.append(f"{render_type(value['type'])}: {render_bounds(value['bounds'])}")
        else:
            where.append(json.dumps(predicate, sort_keys=True))
    return f"<{', '.join(words)}>" if words else "", f" where {', '.join(where)}" if where else ""


def render_signature(signature):
    inputs = []
    for name, given in signature["inputs"]:
        text = render_type(given)
        if name == "self":
            inputs.append({"Self": "self", "&Self": "&self", "&mut Self": "&mut self"}.get(text, f"self: {text}"))
        else:
            # The names of parameters are no part of the interface.
            inputs.append(text)
    output = f" -> {render_type(signature['output'])}" if signature["output"] else ""
    return f"({', '.join(inputs)}){output}"


class Listing:
    """The lines of one crate."""

    def __init__(self, document):
        self.index = document["index"]
        self.lines = set()
        self.seen = set()
        root = self.item(document["root"])
        self.walk(root, root["name"])

    def item(self, identifier):
        return self.index.get(str(identifier))

    def add(self, item, text):
        attributes = {"non_exhaustive"} & {attribute if isinstance(attribute, str) else "" for attribute in item["attrs"]}
        self.lines.add(" ".join([f"#[{name}]" for name in sorted(attributes)] + [text]))

    def walk(self, item, path):
        kind, inner = next(iter(item["inner"].items()))
        # Each path is a name that somebody may have written, but a module may be met again below itself.
        if (item["id"], path) in self.seen:
            return
        self.seen.add((item["id"], path))
        match kind:
            case "module":
                self.add(item, f"mod {path}")
                for child in map(self.item, inner["items"]):
                    if child and child["visibility"] == "public":
                        self.walk_child(child, path)
            case "function":
                self.function(item, inner, path)
            case "struct":
                self.structure(item, inner, path)
            case "enum":
                self.enumeration(item, inner, path)
            case "trait":
                generics, where = render_generics(inner["generics"])
                bounds = render_bounds(inner["bounds"])
                self.add(item, f"trait {path}{generics}{f': {bounds}' if bounds else ''}{where}")
                for child in map(self.item, inner["items"]):
                    self.member(child, path)
            case "constant":
                self.add(item, f"const {path}: {render_type(inner['type'])}")
            case "static":
                self.add(item, f"static {path}: {render_type(inner['type'])}")
            case "type_alias":
                generics, where = render_generics(inner["generics"])
                self.add(item, f"type {path}{generics} = {render_type(inner['type'])}{where}")
            case _:
                self.add(item, f"{kind} {path}")

    def walk_child(self, child, path):
        used = child["inner"].get("use")
        if used is None:
            self.walk(child, f"{path}::{child['name']}")
        elif (target := self.item(used["id"])) is None:
            self.add(child, f"use {path}::{used['name']} = {used['source']}")
        elif used["is_glob"]:
            for inner in map(self.item, target["inner"]["module"]["items"]):
                if inner["visibility"] == "public":
                    self.walk_child(inner, path)
        else:
            self.walk(target, f"{path}::{used['name']}")

    def function(self, item, inner, path):
        generics, where = render_generics(inner["generics"])
        header = inner["header"]
        words = [word for word in ("const", "async", "unsafe") if header[f"is_{word}"]]
        self.add(item, f"{' '.join([*words, 'fn'])} {path}{generics}{render_signature(inner['sig'])}{where}")

    def structure(self, item, inner, path):
        generics, where = render_generics(inner["generics"])
        kind = inner["kind"]
        hidden = ""
        if isinstance(kind, dict) and "plain" in kind:
            for field in filter(None, map(self.item, kind["plain"]["fields"])):
                self.field(field, path)
            hidden = " { .. }" if kind["plain"]["has_stripped_fields"] else " {}"
        elif isinstance(kind, dict):
            fields = [self.item(field) if field is not None else None for field in kind["tuple"]]
            words = [render_type(field["inner"]["struct_field"]) if field else "_" for field in fields]
            hidden = f"({', '.join(words)})"
        self.add(item, f"struct {path}{generics}{hidden}{where}")
        self.implementations(inner["impls"], path)

    def field(self, field, path):
        if field["visibility"] in ("public", "default"):
            self.add(field, f"field {path}::{field['name']}: {render_type(field['inner']['struct_field'])}")

    def enumeration(self, item, inner, path):
        generics, where = render_generics(inner["generics"])
        self.add(item, f"enum {path}{generics}{where}")
        for variant in filter(None, map(self.item, inner["variants"])):
            kind = variant["inner"]["variant"]["kind"]
            name = f"{path}::{variant['name']}"
            if kind == "plain":
                self.add(variant, f"variant {name}")
            elif "tuple" in kind:
                fields = [self.item(field) if field is not None else None for field in kind["tuple"]]
                words = [render_type(field["inner"]["struct_field"]) if field else "_" for field in fields]
                self.add(variant, f"variant {name}({', '.join(words)})")
            else:
                self.add(variant, f"variant {name} {{}}")
                for field in filter(None, map(self.item, kind["struct"]["fields"])):
                    self.field(field, name)
        self.implementations(inner["impls"], path)

    def implementations(self, identifiers, path):
        for block in filter(None, map(self.item, identifiers)):
            inner = block["inner"]["impl"]
            if inner["blanket_impl"] or inner["is_synthetic"]:
                continue
            if inner["trait"] is None:
                for child in map(self.item, inner["items"]):
                    if child and child["visibility"] == "public":
                        self.member(child, path)
            elif inner["trait"]["path"].rsplit("::", 1)[-1] not in BLANKET:
                generics, where = render_generics(inner["generics"])
                self.lines.add(f"impl{generics} {render_path(inner['trait'])} for {path}{where}")

    def member(self, item, path):
        name = f"{path}::{item['name']}"
        kind, inner = next(iter(item["inner"].items()))
        match kind:
            case "function":
                self.function(item, inner, name)
            case "assoc_const":
                self.add(item, f"const {name}: {render_type(inner['type'])}")
            case "assoc_type":
                self.add(item, f"type {name}")
            case _:
                self.add(item, f"{kind} {name}")


def listing(package, target):
    """The interface of a package, as sorted lines."""
    return sorted(Listing(rustdoc_json(package, target)).lines)
