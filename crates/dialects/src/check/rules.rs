//! What is looked for, and what to do about it.

use serde::{Serialize, Serializer};

use super::Level;

/// One thing that is looked for.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rule {
    /// Its name for programs.
    pub id: &'static str,
    /// How much it matters.
    pub level: Level,
    /// What is the matter, for any tool.
    pub title: &'static str,
    /// What the author can do.
    pub help: &'static str,
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}

macro_rules! rules {
    ($($name:ident = $id:literal, $level:ident, $title:literal, $help:literal;)*) => {
        $(pub(super) static $name: Rule =
            Rule { id: $id, level: Level::$level, title: $title, help: $help };)*

        /// All rules, in a fixed order.
        pub static ALL: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    QUARANTINED = "tool-left-out", Error,
        "A dialect cannot carry the tool at all",
        "repair what the reason names; until then the tool is left out of the request and the others still work";
    TOOL_NOT_OBJECT = "tool-not-object", Error,
        "An entry of the list is not a tool",
        "give a JSON object with name, description and inputSchema";
    NAME_MISSING = "name-missing", Error,
        "A tool has no name",
        "give the tool a name; nothing can call it without one";
    NAME_DUPLICATE = "name-duplicate", Error,
        "Two tools have the same name",
        "rename one of them; only the first that can be sent can be called";
    NAME_CLASH = "name-clash", Warning,
        "Two tool names differ only in case or punctuation",
        "choose names that a model cannot confuse, and that stay apart where punctuation is not allowed";
    NAME_ILLEGAL = "name-illegal", Warning,
        "A tool name is not legal everywhere",
        "use letters, digits, _ and -, starting with a letter, and few characters";
    NAME_UNCLEAR = "name-unclear", Note,
        "A name says too little",
        "use a verb and a noun for tools (search_orders) and a whole word for parameters";
    DESCRIPTION_MISSING = "description-missing", Warning,
        "A tool has no description",
        "say in one or two sentences what the tool does, when to use it and what it returns";
    DESCRIPTION_SHORT = "description-short", Note,
        "A tool's description hardly says more than its name",
        "say when to use the tool and what it returns";
    DESCRIPTION_LONG = "description-long", Warning,
        "A description is longer than a dialect takes",
        "shorten it, or move examples into the server's own documentation; what is over the limit is cut";
    PARAMETER_UNDESCRIBED = "parameter-undescribed", Warning,
        "A parameter has no description",
        "say what the value means, its unit or format, and give an example";
    SCHEMA_MISSING = "schema-missing", Warning,
        "A tool has no input schema",
        "write {\"type\": \"object\", \"properties\": {}} for a tool without parameters";
    SCHEMA_INVALID = "schema-invalid", Error,
        "A keyword has a value that JSON Schema does not allow",
        "write what the keyword asks for; until then it is repaired or not checked";
    SCHEMA_DRAFT = "schema-draft", Warning,
        "A schema is valid only in an older draft that it does not name",
        "add $schema, or write it in 2020-12";
    ROOT_TYPE = "root-type-missing", Warning,
        "The root of a schema does not say that it is an object",
        "add \"type\": \"object\" at the root";
    ROOT_UNION = "root-union", Warning,
        "The root of a schema is a union or a condition",
        "declare all parameters in one properties object, or make one tool of each alternative";
    TYPE_MISSING = "type-missing", Warning,
        "A parameter has no type",
        "give it one of string, number, integer, boolean, array, object";
    ITEMS_MISSING = "items-missing", Warning,
        "An array does not say what its items are",
        "add items with the type of one entry";
    OBJECT_FREE = "object-free", Note,
        "An object does not say what it holds",
        "declare its properties, or the type of its values in additionalProperties";
    KEY_ILLEGAL = "key-illegal", Warning,
        "A parameter's name is not legal everywhere",
        "use letters, digits and _, starting with a letter, and few characters";
    REQUIRED_MISSING = "required-missing", Note,
        "An object with properties does not say which are required",
        "list the parameters that a call cannot do without in required, or write required: [] if there are none";
    REQUIRED_UNKNOWN = "required-unknown", Warning,
        "A required name is not declared",
        "declare the property or take its name out of required";
    ENUM_IN_PROSE = "enum-in-prose", Note,
        "A description lists the allowed values, the schema does not",
        "list the values in enum";
    DEFAULT_IN_PROSE = "default-in-prose", Note,
        "A description names a default, the schema does not",
        "write the value in default";
    DEFAULT_INVALID = "default-invalid", Warning,
        "A default is not valid for its own parameter",
        "correct the default or the rules beside it";
    REF_DANGLING = "ref-dangling", Error,
        "A reference leads nowhere",
        "point it at a definition in the same schema; references out of it are not followed";
    PATTERN_PYTHON = "pattern-not-portable", Warning,
        "A regular expression is not taken everywhere",
        "keep to what Python's re and ECMAScript share: (?P<…>) is Python, (?<…>) and \\p{…} are not";
    VALUE_AS_TEXT = "value-as-json-text", Note,
        "A value travels as JSON text because its schema says too little or too much for a dialect",
        "say its type; for recursive values, limit the depth";
    TOO_MANY_TOOLS = "too-many-tools", Warning,
        "More tools than a request of this dialect takes",
        "expose fewer tools, or let the caller choose among them";
    NOT_ALL_STRICT = "not-all-strict", Note,
        "More tools than a request of this dialect takes as strict ones",
        "put the tools that must be strict first; those beyond are sent in the plain form";
    COST = "tool-cost", Note,
        "A tool takes much of the context window",
        "shorten descriptions and leave out parameters that a model does not need";
}
