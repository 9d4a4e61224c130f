//! Tool results written as XML.

use serde_json::Value;

use crate::wire::Members as _;
use crate::wire::results::piece::{Answer, read_block};
use crate::wire::results::piece_text;

/// Results inside results that are written out.
const MAX_DEPTH: u32 = 8;

/// Writes a neutral tool result, `{tool_use_id, content, status?, error?}`, as a `<tool_result>` element.
///
/// Text is escaped, as are the texts of resources and `structuredContent` that no text repeats; images become `<image />`,
/// blocks of a kind that is not known `<unknown />`.
pub fn render_xml_result(result: &Value) -> String {
    let mut lines = Vec::new();
    write_result(&mut lines, result, 0);
    lines.join("\n")
}

fn write_result(lines: &mut Vec<String>, result: &Value, depth: u32) {
    let status = escape_xml(result.text("status").unwrap_or("success"));
    let id = escape_xml(result.text("tool_use_id").unwrap_or_default());
    lines.push(format!("<tool_result tool_use_id=\"{id}\" status=\"{status}\">"));
    let answer = Answer::read(result);
    match result.get("content") {
        Some(Value::String(text)) => lines.push(escape_xml(text)),
        Some(Value::Array(blocks)) => {
            let blocks = blocks.iter().enumerate().filter(|(index, _)| !answer.is_superfluous(*index));
            blocks.for_each(|(_, block)| write_block(lines, block, depth));
        }
        Some(Value::Null) | None => {}
        Some(other) => lines.push(escape_xml(&other.to_string())),
    }
    lines.extend(answer.unrepeated().map(|structured| escape_xml(&structured.to_string())));
    if let Some(error) = result.get("error").filter(|error| !error.is_null()) {
        let message = escape_xml(error.text("message").or(error.as_str()).unwrap_or_default());
        let details = error.get("details").filter(|details| !details.is_null());
        let details = details.map(|details| format!(" details=\"{}\"", escape_xml(&details.to_string())));
        lines.push(format!("<error message=\"{message}\"{} />", details.unwrap_or_default()));
    }
    lines.push("</tool_result>".to_owned());
}

fn write_block(lines: &mut Vec<String>, block: &Value, depth: u32) {
    let at = |path: &str| block.pointer(path).and_then(Value::as_str);
    lines.push(match at("/type").unwrap_or_default() {
        "text" => escape_xml(at("/text").unwrap_or_default()),
        "image" | "image_base64" | "image_url" => {
            let data = at("/source/data").or(at("/data"));
            let url = at("/source/url").or(at("/url")).unwrap_or_default();
            let media =
                at("/source/media_type").or(at("/mimeType")).or(at("/media_type")).unwrap_or("image/png");
            match data {
                Some(data) => {
                    format!("<image type=\"{}\" data=\"{}\" />", escape_xml(media), escape_xml(data))
                }
                None => format!("<image url=\"{}\" />", escape_xml(url)),
            }
        }
        "tool_use" => format!(
            "<tool_use id=\"{}\" name=\"{}\">{}</tool_use>",
            escape_xml(at("/id").unwrap_or_default()),
            escape_xml(at("/name").unwrap_or_default()),
            escape_xml(&block.get("input").map(Value::to_string).unwrap_or_default()),
        ),
        "tool_result" if depth < MAX_DEPTH => return write_result(lines, block, depth + 1),
        "resource" | "resource_link" | "audio" => escape_xml(&piece_text(&read_block(block))),
        other => format!("<unknown type=\"{}\" />", escape_xml(other)),
    });
}

/// Replaces the five characters that XML gives a meaning.
pub fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            _ => out.push(character),
        }
    }
    out
}
