use gateway_runtime::McpClient;
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let demo = McpClient::entry("demo", &json!({"type": "builtin"})).await?;
    let sum = demo.call_tool("add", &json!({"a": 15, "b": 27})).await?.value()?;
    assert_eq!(sum["structuredContent"]["result"], 42);
    Ok(())
}
