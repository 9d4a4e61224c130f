//! Tool results written as XML.

use std::fmt::Write;

use serde_json::Value;

use crate::wire::results::piece::{Answer, read_block};
use crate::wire::results::piece_text;

/// Results inside results that are written out.
const MAX_DEPTH: u32 = 8;

/// Writes a neutral tool result, `{tool_use_id, content, status?, error?}`, as a `<tool_result>` element.
///
/// Text is escaped, as are the texts of resources and `structuredContent` that no text repeats; images become `<image />`,
/// blocks of a kind that is not known `<unknown />`.
pub fn render_xml_result(result: &Value) -> String {
    let mut out = String::new();
    write_result(&mut out, result, 0);
    out
}

fn write_result(out: &mut String, result: &Value, depth: u32) {
    let at = |key: &str| result.get(key).and_then(Value::as_str);
    let status = at("status").unwrap_or("success");
    let id = at("tool_use_id").unwrap_or_default();
    // Writing to a string cannot fail.
    let _ =
        writeln!(out, "<tool_result tool_use_id=\"{}\" status=\"{}\">", escape_xml(id), escape_xml(status));
    match result.get("content") {
        Some(Value::String(text)) => {
            let _ = writeln!(out, "{}", escape_xml(text));
        }
        Some(Value::Array(blocks)) => blocks.iter().for_each(|block| write_block(out, block, depth)),
        Some(Value::Null) | None => {}
        Some(other) => {
            let _ = writeln!(out, "{}", escape_xml(&other.to_string()));
        }
    }
    if let Some(structured) = Answer::read(result).unrepeated() {
        let _ = writeln!(out, "{}", escape_xml(&structured.to_string()));
    }
    if let Some(error) = result.get("error").filter(|error| !error.is_null()) {
        let message = error.get("message").and_then(Value::as_str).or(error.as_str()).unwrap_or_default();
        let _ = write!(out, "<error message=\"{}\"", escape_xml(message));
        if let Some(details) = error.get("details").filter(|details| !details.is_null()) {
            let _ = write!(out, " details=\"{}\"", escape_xml(&details.to_string()));
        }
        out.push_str(" />\n");
    }
    out.push_str("</tool_result>");
    if depth > 0 {
        out.push('\n');
    }
}

fn write_block(out: &mut String, block: &Value, depth: u32) {
    let at = |path: &str| block.pointer(path).and_then(Value::as_str);
    let kind = at("/type").unwrap_or_default();
    let _ = match kind {
        "text" => writeln!(out, "{}", escape_xml(at("/text").unwrap_or_default())),
        "image" | "image_base64" | "image_url" => {
            let data = at("/source/data").or(at("/data"));
            let url = at("/source/url").or(at("/url"));
            let media =
                at("/source/media_type").or(at("/mimeType")).or(at("/media_type")).unwrap_or("image/png");
            match (data, url) {
                (Some(data), _) => {
                    writeln!(out, "<image type=\"{}\" data=\"{}\" />", escape_xml(media), escape_xml(data))
                }
                (None, url) => writeln!(out, "<image url=\"{}\" />", escape_xml(url.unwrap_or_default())),
            }
        }
        "tool_use" => writeln!(
            out,
            "<tool_use id=\"{}\" name=\"{}\">{}</tool_use>",
            escape_xml(at("/id").unwrap_or_default()),
            escape_xml(at("/name").unwrap_or_default()),
            escape_xml(&block.get("input").map(Value::to_string).unwrap_or_default()),
        ),
        "tool_result" if depth < MAX_DEPTH => {
            write_result(out, block, depth + 1);
            Ok(())
        }
        "resource" | "resource_link" | "audio" => {
            writeln!(out, "{}", escape_xml(&piece_text(&read_block(block))))
        }
        other => writeln!(out, "<unknown type=\"{}\" />", escape_xml(other)),
    };
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
