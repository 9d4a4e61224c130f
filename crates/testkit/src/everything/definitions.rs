//! The definitions of the tools.

/// The shortest valid audio.
pub(super) const AUDIO: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const NOTHING: &str = r#"{"type":"object","properties":{}}"#;

/// Name, description and input schema.
type Definition = (&'static str, &'static str, &'static str);

/// The tool that `test_trigger_tool_change` adds and removes.
pub(super) const DYNAMIC_TOOL: Definition = ("test_dynamic_tool", "Comes and goes", NOTHING);

/// All tools that are always there. The suite calls the first one without arguments.
pub(super) const TOOLS: &[Definition] = &[
    ("test_simple_text", "Answers with a text", NOTHING),
    ("test_image_content", "Answers with an image", NOTHING),
    ("test_audio_content", "Answers with a sound", NOTHING),
    ("test_embedded_resource", "Answers with an embedded resource", NOTHING),
    ("test_multiple_content_types", "Answers with a text, an image and a resource", NOTHING),
    ("test_error_handling", "Fails", NOTHING),
    ("test_tool_with_logging", "Sends three log messages", NOTHING),
    ("test_logging_tool", "Sends three log messages to those who asked for them", NOTHING),
    ("test_tool_with_progress", "Reports its progress three times", NOTHING),
    (
        "test_reconnection",
        "Ends the stream of a legacy client, which has to come back for the answer",
        NOTHING,
    ),
    (
        "test_sampling",
        "Asks the client's model",
        r#"{"type":"object","properties":{"prompt":{"type":"string","description":"What the model is asked"}},"required":["prompt"]}"#,
    ),
    (
        "test_elicitation",
        "Asks the user",
        r#"{"type":"object","properties":{"message":{"type":"string","description":"What the user is asked"}},"required":["message"]}"#,
    ),
    ("test_elicitation_sep1034_defaults", "Asks the user with a form full of defaults", NOTHING),
    ("test_elicitation_sep1330_enums", "Asks the user with a form full of choices", NOTHING),
    ("test_missing_capability", "Needs a client with sampling", NOTHING),
    ("test_streaming_elicitation", "Asks the user at the end of a stream", NOTHING),
    ("test_input_required_result_elicitation", "Asks for the user's name", NOTHING),
    ("test_input_required_result_sampling", "Asks the client's model for a capital", NOTHING),
    ("test_input_required_result_list_roots", "Asks for the client's roots", NOTHING),
    ("test_input_required_result_request_state", "Asks once and remembers that by state", NOTHING),
    ("test_input_required_result_multiple_inputs", "Asks three things at once", NOTHING),
    ("test_input_required_result_multi_round", "Asks twice", NOTHING),
    ("test_input_required_result_tampered_state", "Refuses state that was changed on its way", NOTHING),
    ("test_input_required_result_capabilities", "Asks only what the client can answer", NOTHING),
    (
        "json_schema_2020_12_tool",
        "Has a schema with the whole vocabulary of JSON Schema 2020-12",
        concat!(
            r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","##,
            r##""$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"##,
            r##""properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"##,
            r##""allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"##,
            r##""if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}"##,
        ),
    ),
    ("test_trigger_tool_change", "Changes the list of tools", NOTHING),
    ("test_trigger_prompt_change", "Changes the list of prompts", NOTHING),
    ("test_trigger_resource_change", "Changes the list of resources", NOTHING),
    (
        "test_trigger_resource_update",
        "Changes what a resource says",
        r#"{"type":"object","properties":{"uri":{"type":"string","description":"Which one; the watched one where absent"}}}"#,
    ),
    (
        "greet",
        "Says hello",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"To whom"}},"required":["name"]}"#,
    ),
    (
        "slow_compute",
        "Takes its time; a task where the client knows tasks",
        r#"{"type":"object","properties":{"seconds":{"type":"number","description":"How long"},"label":{"type":"string","description":"What the result says"}},"required":["seconds"]}"#,
    ),
    (
        "test_held_call",
        "Is held until it is cancelled; reports progress once when it begins",
        r#"{"type":"object","properties":{"label":{"type":"string","description":"How it is called"}},"required":["label"]}"#,
    ),
    (
        "test_await_held_call",
        "Answers once a held call has begun or was cancelled",
        r#"{"type":"object","properties":{"label":{"type":"string","description":"Which call"},"state":{"type":"string","enum":["begun","cancelled"],"description":"Until when"}},"required":["label","state"]}"#,
    ),
    ("failing_job", "A task whose tool fails", NOTHING),
    ("protocol_error_job", "A task that breaks", NOTHING),
    (
        "confirm_delete",
        "A task that asks the user once",
        r#"{"type":"object","properties":{"filename":{"type":"string","description":"What would be deleted"}},"required":["filename"]}"#,
    ),
    ("multi_input", "A task that asks the user twice at once", NOTHING),
    ("test_tool_with_task", "Asks the user first and then becomes a task", NOTHING),
];
