//! For authors of MCP servers: starts one, lists its tools, and says what every provider makes of them.
//!
//! `cargo run -p gateway-runtime --example test_a_server -- COMMAND ARGUMENTS…`

use std::error::Error;
use std::io::Write as _;

use gateway_dialects::check::{Level, check};
use gateway_dialects::{Options, Translator};
use gateway_runtime::McpClient;

/// One line for each tool, and one for each thing that its author should look at.
pub(crate) async fn report(command: &str, arguments: Vec<String>) -> Result<Vec<String>, Box<dyn Error>> {
    let client = McpClient::stdio(command, arguments).await?;
    let tools = client.tools().await?;
    let mut lines = Vec::new();
    for tool in &tools {
        lines.push(format!("tool {}", tool["name"].as_str().unwrap_or("(without a name)")));
    }
    for left in client.skipped()? {
        lines.push(format!("left out, as number {}: {}", left.index + 1, left.reason));
    }
    let dialects = client.runtime()?.dialects();
    let translators = ["openai", "anthropic", "gemini", "bedrock"]
        .map(|name| Translator::new(&dialects, name, Options::default()))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    let report = check("the server", &tools, &translators);
    for finding in report.findings.iter().filter(|finding| finding.level >= Level::Warning) {
        lines.push(format!("{} {}: {}", finding.level.name(), finding.location(), finding.message));
    }
    client.close().await;
    Ok(lines)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let command = words.next().ok_or("which server? name its command")?;
    let mut output = std::io::stdout();
    for line in report(&command, words.collect()).await? {
        writeln!(output, "{line}")?;
    }
    Ok(())
}
