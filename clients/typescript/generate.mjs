// Writes src/generated/ from the gateway's OpenAPI document.
//
//   node generate.mjs OPENAPI_JSON            writes the files
//   node generate.mjs OPENAPI_JSON --check    exits with 1 where a file is not what would be written
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const HEAD = "// Generated from docs/reference/openapi.json by generate.mjs.\n\n";
// Says how an answer is written; methods choose it themselves.
const CHOSEN_BY_METHODS = new Set(["Accept", "x-correlation-id"]);

// Names that would hide types of the language or of the client.
const RENAMED = { Error: "ErrorBody", Object: "JsonObject", Provider: "ProviderInfo" };

const [source, mode] = process.argv.slice(2);
if (!source) {
  console.error("usage: node generate.mjs OPENAPI_JSON [--check]");
  process.exit(2);
}
const document = JSON.parse(readFileSync(source, "utf8"));
const folder = new URL("src/generated/", import.meta.url);
let stale = 0;
for (const [name, text] of [["schemas.ts", schemas()], ["operations.ts", operations()]]) {
  const path = fileURLToPath(new URL(name, folder));
  if (mode === "--check") {
    if (readOrNothing(path) !== text) {
      console.error(`${path} is not what ${source} gives: run node generate.mjs ${source}`);
      stale = 1;
    }
  } else {
    writeFileSync(path, text);
  }
}
process.exit(stale);

function readOrNothing(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function schemas() {
  const parts = Object.entries(document.components.schemas).map(([given, schema]) => {
    const name = RENAMED[given] ?? given;
    // Requests may carry members of which the document does not know: settings of models, say.
    const open = /Request$/.test(name) && schema.additionalProperties !== false;
    const text = typeOf(schema, "", open);
    const head = comment(schema.description, "");
    return schema.properties && text.startsWith("{")
      ? `${head}export interface ${name} ${text}\n`
      : `${head}export type ${name} = ${text};\n`;
  });
  return HEAD + parts.join("\n");
}

function typeOf(schema, indent, open = false) {
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    return RENAMED[name] ?? name;
  }
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.properties) return objectType(schema, indent, open);
  if (schema.anyOf) {
    // A schema that allows anything makes the whole union `unknown`.
    const types = [...new Set(schema.anyOf.map((one) => typeOf({ type: schema.type, ...one }, indent)))];
    return types.includes("unknown") ? "unknown" : types.join(" | ");
  }
  const types = [schema.type ?? []].flat().map((type) => plainType(type, schema, indent));
  return types.length ? [...new Set(types)].join(" | ") : "unknown";
}

function plainType(type, schema, indent) {
  if (type === "integer" || type === "number") return "number";
  if (type === "string" || type === "boolean" || type === "null") return type;
  if (type === "array") {
    const items = schema.items ? typeOf(schema.items, indent) : "unknown";
    return /^[\w.]+$/.test(items) ? `${items}[]` : `Array<${items}>`;
  }
  const values = schema.additionalProperties ? typeOf(schema.additionalProperties, indent) : "unknown";
  return `Record<string, ${values}>`;
}

function objectType(schema, indent, open) {
  const inner = `${indent}  `;
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties).map(([name, member]) => {
    const type = typeOf(member, inner);
    return `${comment(member.description, inner)}${inner}${key(name)}${required.has(name) ? "" : "?"}: ${type};\n`;
  });
  if (open) members.push(`${inner}[member: string]: unknown;\n`);
  return `{\n${members.join("")}${indent}}`;
}

function key(name) {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function comment(text, indent) {
  return text ? `${indent}/** ${text.replaceAll("*/", "*\\/")} */\n` : "";
}

function* allOperations() {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId) yield { path, method: method.toUpperCase(), operation };
    }
  }
}

function parametersOf(operation, place) {
  return (operation.parameters ?? [])
    .map((one) => (one.$ref ? document.components.parameters[one.$ref.split("/").at(-1)] : one))
    .filter((one) => one.in === place && !CHOSEN_BY_METHODS.has(one.name));
}

/** `Idempotency-Key` is `idempotencyKey`, `x-gateway-tools` is `gatewayTools`. */
function optionOfHeader(name) {
  const words = name.toLowerCase().replace(/^x-/, "").split("-");
  return words.map((word, index) => (index ? word[0].toUpperCase() + word.slice(1) : word)).join("");
}

function operations() {
  const rows = [];
  const types = [];
  for (const { path, method, operation } of allOperations()) {
    const query = parametersOf(operation, "query");
    const headers = parametersOf(operation, "header");
    const header = headers.map((one) => `${optionOfHeader(one.name)}: ${JSON.stringify(one.name)}`);
    const names = query.map((one) => JSON.stringify(one.name)).join(", ");
    rows.push(
      `  ${operation.operationId}: {\n    method: "${method}",\n    path: ${JSON.stringify(path)},\n` +
        `    query: [${names}],\n    headers: {${header.length ? ` ${header.join(", ")} ` : ""}},\n  },\n`,
    );
    const members = [
      ...query.map((one) => member(one.name, one)),
      ...headers.map((one) => member(optionOfHeader(one.name), one)),
    ];
    if (members.length) {
      const name = operation.operationId[0].toUpperCase() + operation.operationId.slice(1);
      types.push(`/** Parameters of \`${method} ${path}\`. */\nexport interface ${name}Parameters {\n${members.join("")}}\n`);
    }
  }
  return (
    `${HEAD}/** Every route, with the names of its parameters. */\nexport const OPERATIONS = {\n${rows.join("")}} as const;\n\n` +
    types.join("\n")
  );
}

function member(name, parameter) {
  const type = typeOf(parameter.schema, "  ");
  // One value need not be a list.
  const shown = parameter.schema.type === "array" ? `${typeOf(parameter.schema.items, "  ")} | ${type}` : type;
  return `${comment(parameter.description, "  ")}  ${key(name)}?: ${shown};\n`;
}
