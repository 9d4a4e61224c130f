"""The input of Bedrock's Converse as JSON Schema, from the service model in botocore: for the strict server of the wire `converse`.

    converse_shapes.py                 writes it
    converse_shapes.py --check         says whether what is there is of the botocore that is installed

Needs botocore of the version that requirements.txt names.
"""

import json
import pathlib
import sys

import botocore.session

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "crates/testkit/src/models/strict/converse.schema.json"
# The model's id is in the path, so no body has it.
IN_THE_PATH = {"modelId"}
LIMITS = {"string": ("minLength", "maxLength"), "list": ("minItems", "maxItems"), "map": ("minProperties", "maxProperties")}
NUMBERS = {"integer": "integer", "long": "integer", "float": "number", "double": "number"}


def schema_of(shape, definitions):
    """A reference to the shape, which is put among the definitions with all that it needs."""
    if shape.name not in definitions:
        definitions[shape.name] = None
        definitions[shape.name] = body_of(shape, definitions)
    return {"$ref": f"#/$defs/{shape.name}"}


def body_of(shape, definitions):
    if shape.type_name == "structure":
        if shape.is_document_type:
            return {}
        members = {name: schema_of(member, definitions) for name, member in shape.members.items() if name not in IN_THE_PATH}
        body = {"type": "object", "properties": members, "additionalProperties": False}
        if required := [name for name in shape.required_members if name not in IN_THE_PATH]:
            body["required"] = required
        # Of a union there is exactly one member.
        return {**body, "minProperties": 1, "maxProperties": 1} if shape.is_tagged_union else body
    limits = shape.metadata
    if shape.type_name == "list":
        body = {"type": "array", "items": schema_of(shape.member, definitions)}
    elif shape.type_name == "map":
        body = {"type": "object", "additionalProperties": schema_of(shape.value, definitions), "propertyNames": schema_of(shape.key, definitions)}
    elif shape.type_name == "string":
        body = {"type": "string"}
        if limits.get("enum"):
            body["enum"] = list(limits["enum"])
        if limits.get("pattern"):
            body["pattern"] = f"^(?:{limits['pattern']})$"
    elif shape.type_name in NUMBERS:
        body = {"type": NUMBERS[shape.type_name]}
        body |= {key: limits[name] for key, name in (("minimum", "min"), ("maximum", "max")) if name in limits}
    elif shape.type_name == "boolean":
        return {"type": "boolean"}
    elif shape.type_name == "blob":
        # Bytes are Base64 in JSON; their limits count the bytes.
        return {"type": "string", "pattern": "^[A-Za-z0-9+/]*={0,2}$"}
    else:
        raise SystemExit(f"converse_shapes.py: the shape {shape.name} has the type {shape.type_name}, which it does not know")
    if shape.type_name in LIMITS:
        least, most = LIMITS[shape.type_name]
        body |= {key: limits[name] for key, name in ((least, "min"), (most, "max")) if name in limits}
    return body


def main():
    session = botocore.session.get_session()
    model = session.get_service_model("bedrock-runtime")
    definitions = {}
    root = schema_of(model.operation_model("Converse").input_shape, definitions)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(body)}" for name, body in sorted(definitions.items()))
    text = f'{{"$ref": {json.dumps(root["$ref"])}, "$defs": {{\n{lines}\n}}}}\n'
    if "--check" not in sys.argv:
        TARGET.write_text(text)
        return 0
    if TARGET.read_text() == text:
        return 0
    print(f"{TARGET.name} is not what botocore says: run converse_shapes.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
