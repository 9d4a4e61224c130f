//! The fields of a configuration: one table for the check of names and for the JSON Schema.

use gateway_notation::spelling::nearest_names;

use crate::reader::Reader;
use crate::spec::MOST_RESULTS;

/// What a field holds.
pub(crate) enum Shape {
    Text,
    Texts,
    /// Texts by name.
    TextMap,
    /// Lists of texts by name.
    TextsMap,
    Flag,
    /// A whole number in a range.
    Whole(u64, u64),
    /// A number of seconds, or a text with a unit.
    Time,
    /// Times by name.
    TimeMap,
    /// A time, or false for never.
    TimeOrFalse,
    /// A number of bytes, or a text with a unit.
    Bytes,
    Choice(&'static [&'static str]),
    /// One of several words by name.
    ChoiceMap(&'static [&'static str]),
    Object(&'static [Field]),
    /// Objects by name.
    ObjectMap,
    /// An object that is taken as it is.
    Schema,
    /// Any of these.
    Either(&'static [Shape]),
    /// Taken as it is.
    Any,
}

/// One field.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// One sentence for people; empty for fields of other programs, which are not shown in the schema's prose.
    pub(crate) about: &'static str,
}

const fn field(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, shape, about }
}

/// Whether a table has a field of that name.
pub(crate) fn knows(fields: &[Field], name: &str) -> bool {
    fields.iter().any(|field| field.name == name)
}

// What every program has: a server, what stands in for it, and the command of a tool.
const ENV: Field = field("env", Shape::TextMap, "Variables for the program, beside those of the gateway.");
const ENVIRONMENT: Field = field("environment", Shape::TextMap, "The same as `env`.");
const ENV_FILE: Field =
    field("envFile", Shape::Text, "A `.env` file with variables for the program; `env` wins.");
const ALLOW_UNSAFE_ENV: Field =
    field("allowUnsafeEnv", Shape::Texts, "Patterns of variables in `env` that are refused otherwise.");
const CWD: Field = field("cwd", Shape::Text, "The directory in which the program runs.");

/// A program as a text, as a list with its arguments, or as Zed writes it.
const PROGRAM: Shape = Shape::Either(&[Shape::Text, Shape::Texts, Shape::Object(ZED_COMMAND)]);

pub(crate) const TRANSPORTS: &[&str] = &[
    "stdio",
    "http",
    "streamable-http",
    "streamableHttp",
    "streamable_http",
    "sse",
    "builtin",
    "demo",
    "workspace",
    "local",
    "remote",
];

pub(crate) const SERVER: &[Field] = &[
    field("type", Shape::Choice(TRANSPORTS), "How to speak to the server; follows from `command` or `url`."),
    field("transport", Shape::Choice(TRANSPORTS), "The same as `type`."),
    field("transportType", Shape::Choice(TRANSPORTS), "The same as `type`."),
    field("command", PROGRAM, "The program to start. No shell is involved."),
    field("args", Shape::Texts, "Its arguments."),
    ENV,
    ENVIRONMENT,
    ENV_FILE,
    ALLOW_UNSAFE_ENV,
    CWD,
    field("image", Shape::Text, "A container image, run as `docker run --rm -i IMAGE` with `args` after it."),
    field("docker", Shape::Either(&[Shape::Text, Shape::Object(DOCKER)]), "The same as `image`."),
    field("url", Shape::Text, "The address of a server over HTTP."),
    field("serverUrl", Shape::Text, "The same as `url`."),
    field("httpUrl", Shape::Text, "The same as `url`, for Streamable HTTP only."),
    field("headers", Shape::TextMap, "Headers of every request to the server."),
    field("root", Shape::Text, "The directory of the built-in server `workspace`; relative to this file."),
    field("readOnly", Shape::Flag, "Leaves out the tools of `workspace` that write."),
    field("maxFileBytes", Shape::Bytes, "The longest file that `workspace` reads, writes or searches."),
    field(
        "maxResults",
        Shape::Whole(1, MOST_RESULTS),
        "The most entries or matches in one answer of `workspace`.",
    ),
    field("disabled", Shape::Flag, "Keeps the entry without using it."),
    field("enabled", Shape::Flag, "The contrary of `disabled`."),
    field("isActive", Shape::Flag, "The contrary of `disabled`."),
    field("alwaysAllow", Shape::Texts, "Patterns of tools that need no approval."),
    field("autoApprove", Shape::Either(&[Shape::Texts, Shape::Flag]), "The same as `alwaysAllow`."),
    field("timeout", Shape::Whole(1, 3_600), "How many seconds a call may take without a sign of life."),
    field("timeoutInMillis", Shape::Whole(1, 3_600_000), "The same as `timeout`, in milliseconds."),
    field("disabledTools", Shape::Texts, "The same as `tools.deny`."),
    field("excludeTools", Shape::Texts, "The same as `tools.deny`."),
    field("includeTools", Shape::Texts, "The same as `tools.allow`."),
    field("enabledTools", Shape::Texts, "The same as `tools.allow`."),
    field("hiddenParams", Shape::Texts, "Parameters of all its tools that the model never sees."),
    field("injectParams", Shape::Any, "Parameters of all its tools that the gateway fills in."),
    field(
        "protocol",
        Shape::Choice(&["auto", "modern", "legacy"]),
        "Which era of MCP to speak; asked by default.",
    ),
    field(
        "connect",
        Shape::Choice(&["eager", "lazy"]),
        "Whether to connect at the start or when it is needed.",
    ),
    field("required", Shape::Flag, "Whether the gateway is not ready without this server."),
    field("idleStop", Shape::TimeOrFalse, "Stops the server after so long without a call."),
    field("restart", Shape::Object(RESTART), "How the server comes back after a failure."),
    field("limits", Shape::Object(LIMITS), "Bounds."),
    field("probeTimeout", Shape::Time, "How long to wait for the answer which era the server speaks."),
    field("connectTimeout", Shape::Time, "How long the whole start may take."),
    field("listTimeout", Shape::Time, "How long a whole listing may take."),
    field("callTimeout", Shape::Time, "How long a call may take without a sign of life."),
    field("maxCallTimeout", Shape::Time, "How long a call that shows progress may take."),
    field("closeTimeout", Shape::Time, "How long to wait for a clean end."),
    field("toolTimeouts", Shape::TimeMap, "`callTimeout` for single tools."),
    field("tools", Shape::Either(&[Shape::Object(TOOLS), Shape::Texts]), "Which tools are offered, and how."),
    field(
        "prefix",
        Shape::Either(&[Shape::Text, Shape::Flag]),
        "Stands before the names of its tools always, as `prefix__tool`; true for the server's name.",
    ),
    field(
        "fallback",
        Shape::Either(&[Shape::Text, Shape::Object(FALLBACK)]),
        "The server or the command that takes over when this one cannot be reached or does not answer.",
    ),
    field("watchPaths", Shape::Texts, "Files whose change restarts the server."),
    field("logPath", Shape::Text, "A JSON-lines log that the server writes itself."),
];

/// Fields of well-known clients that mean nothing here.
pub(crate) const IGNORED: &[&str] = &[
    "$schema",
    "name",
    "title",
    "description",
    "notes",
    "comment",
    "_comment",
    "icon",
    "iconUrl",
    "logo",
    "tags",
    "source",
    "settings",
    "gallery",
    "version",
    "dev",
    "sandbox",
    "sandboxEnabled",
    "trust",
    "autoStart",
    "autostart",
    "provider",
    "providerUrl",
    "installSource",
    "registry",
    "registryUrl",
    "registryType",
    "metadata",
    "_meta",
    "auth",
    "oauth",
    "oauth_client_id",
    "authProviderType",
    "remoteConfig",
    "fromGalleryId",
    "timeoutMs",
    "id",
    "dockerImage",
    "extension",
];

pub(crate) const ZED_COMMAND: &[Field] = &[
    field("path", Shape::Text, "The program to start."),
    field("args", Shape::Texts, "Its arguments."),
    ENV,
];

pub(crate) const DOCKER: &[Field] = &[
    field("image", Shape::Text, "The image."),
    field("args", Shape::Texts, "Arguments after the image."),
    field("options", Shape::Texts, "Options of `docker run`, before the image."),
    field("command", Shape::Text, "Another program than `docker`, such as `podman`."),
];

pub(crate) const RESTART: &[Field] = &[
    field("first", Shape::Time, "The first pause; each further one is twice as long."),
    field("longest", Shape::Time, "The longest pause."),
    field(
        "attempts",
        Shape::Whole(1, 1_000),
        "After so many failures in a row the server counts as crashing.",
    ),
    field("pingEvery", Shape::TimeOrFalse, "How often to ask a legacy stdio server whether it is alive."),
    field("pingTimeout", Shape::Time, "How long to wait for that answer."),
    field("pingFailures", Shape::Whole(1, 1_000), "After so many missing answers the server is restarted."),
];

pub(crate) const LIMITS: &[Field] = &[
    field("messageBytes", Shape::Bytes, "Bytes of one message."),
    field("inFlight", Shape::Whole(1, 1_000_000), "Calls at the same time."),
    field("stderrBytes", Shape::Bytes, "Bytes of standard error that are kept."),
    field("pages", Shape::Whole(1, 1_000_000), "Pages of one listing."),
    field("entries", Shape::Whole(1, 10_000_000), "Entries of one listing."),
    field("listingBytes", Shape::Bytes, "Bytes of one listing, all pages together."),
];

pub(crate) const TOOLS: &[Field] = &[
    field("allow", Shape::Texts, "Patterns (`*`, `?`) of tools that are offered; all where absent."),
    field("deny", Shape::Texts, "Patterns of tools that are not offered."),
    field("idempotent", Shape::Texts, "Patterns of tools that may run again after an unclear failure."),
    field("alwaysAllow", Shape::Texts, "Patterns of tools that need no approval."),
    field(
        "approval",
        Shape::ChoiceMap(&["allow", "ask", "deny"]),
        "By tool pattern: whether calls run, somebody is asked first, or they are refused.",
    ),
    field("injected", Shape::ObjectMap, "By tool pattern: parameters that the gateway fills in."),
    field(
        "hidden",
        Shape::Either(&[Shape::TextsMap, Shape::Texts]),
        "By tool pattern, or for all tools: parameters that the model never sees.",
    ),
    field("categories", Shape::TextMap, "By tool pattern: the category."),
    field("importance", Shape::TextMap, "By tool pattern: `high`, `normal` or `low`."),
    field("tags", Shape::TextsMap, "By tool pattern: tags."),
    field(
        "overrides",
        Shape::ObjectMap,
        "By tool name: title, description or annotations instead of the server's.",
    ),
    field(
        "onDefinitionChange",
        Shape::Choice(&["warn", "block"]),
        "What happens when a tool's definition changes: a warning, or no calls until somebody accepts it.",
    ),
];

pub(crate) const FALLBACK: &[Field] = &[
    field("server", Shape::Text, "The other server."),
    field(
        "command",
        PROGRAM,
        "Instead of `server`: a program that speaks MCP on its standard streams and is started when it is needed.",
    ),
    field("args", Shape::Texts, "The arguments of `command`."),
    ENV,
    ENVIRONMENT,
    ENV_FILE,
    ALLOW_UNSAFE_ENV,
    CWD,
    field(
        "on",
        Shape::Texts,
        "When: `unreachable` (or `connect`), `timeout`, `lost`; all of them where absent.",
    ),
];

/// One tool of the configuration file itself.
pub(crate) const TOOL: &[Field] = &[
    field("title", Shape::Text, "Its name for people."),
    field("description", Shape::Text, "What it does, for the model."),
    field("inputSchema", Shape::Schema, "The JSON Schema of its arguments; any object where absent."),
    field("outputSchema", Shape::Schema, "The JSON Schema of its structured content."),
    field("annotations", Shape::Schema, "Hints such as `readOnlyHint`."),
    field("icons", Shape::Any, "Pictures for people."),
    field("_meta", Shape::Schema, "Passed on as it is."),
    field("timeout", Shape::Time, "How long a call may take; a minute where absent."),
    field(
        "handler",
        Shape::Either(&[Shape::Object(ENDPOINT_HANDLER), Shape::Object(COMMAND_HANDLER)]),
        "What does the work: an HTTP endpoint or a command.",
    ),
];

pub(crate) const ENDPOINT_HANDLER: &[Field] = &[
    field(
        "url",
        Shape::Text,
        "The address that takes `{\"tool\", \"arguments\"}` by POST and gives the result.",
    ),
    field("headers", Shape::TextMap, "Headers of every request."),
    field("maxBytes", Shape::Bytes, "Most bytes of an answer."),
];

pub(crate) const COMMAND_HANDLER: &[Field] = &[
    field("command", Shape::Text, "The program to start for each call. No shell is involved."),
    field(
        "args",
        Shape::Any,
        "Its arguments, with `{parameter}` where a value goes; a list inside the list is left out as a whole where a value is missing.",
    ),
    ENV,
    ENVIRONMENT,
    ENV_FILE,
    ALLOW_UNSAFE_ENV,
    CWD,
    field(
        "stdin",
        Shape::Choice(&["none", "json"]),
        "What it reads: nothing, or the arguments as JSON. JSON where `args` names no parameter.",
    ),
    field("maxBytes", Shape::Bytes, "Most bytes of its output."),
];

pub(crate) const REGISTRY: &[Field] = &[
    field("name", Shape::Text, "The server that registered tools are offered as."),
    field("maxTools", Shape::Whole(1, 100_000), "Most registered tools."),
    field("maxDefinitionBytes", Shape::Bytes, "Most bytes of one definition."),
    field(
        "allowPrivate",
        Shape::Flag,
        "Whether endpoints that are registered over HTTP may be private addresses.",
    ),
];

pub(crate) const GROUP: &[Field] = &[
    field("servers", Shape::Texts, "Patterns of servers whose tools are in the group."),
    field("tools", Shape::Texts, "Patterns of tools that are in the group."),
    field("tags", Shape::Texts, "Tags of tools that are in the group."),
];

/// Whether the entry is switched off. Asked before anything else, as such an entry need not be complete.
pub(crate) fn is_disabled(reader: &Reader<'_>) -> bool {
    let says = |name: &str, flag: bool| reader.get(name).and_then(serde_json::Value::as_bool) == Some(flag);
    says("disabled", true) || says("enabled", false) || says("isActive", false)
}

/// Warns of names that no table has.
pub(crate) fn warn_of_unknown(reader: &Reader<'_>, known: &[Field], ignored: &[&str]) {
    for name in reader.members.keys() {
        if knows(known, name) || ignored.contains(&name.as_str()) {
            continue;
        }
        let hint = nearest_names(name, known.iter().map(|field| field.name))
            .first()
            .map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"));
        reader.warn(name, &format!("unknown field, ignored{hint}"));
    }
}
