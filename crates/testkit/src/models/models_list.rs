//! The list of models, as each provider gives it.

use serde_json::{Value, json};

use super::record::RecordedRequest;
use super::wire::Wire;

/// The list; of the wire's usual model if no names are given.
pub(crate) fn models(request: &RecordedRequest, names: &[&str]) -> Value {
    let usual = [request.wire.usual_model()];
    let names = if names.is_empty() { &usual[..] } else { names };
    let each = |entry: &dyn Fn(&str) -> Value| -> Value { names.iter().map(|name| entry(name)).collect() };
    match request.wire {
        Wire::Ollama if request.path.ends_with("/api/tags") => {
            let details = json!({
                "parent_model": "",
                "format": "gguf",
                "family": "llama",
                "families": ["llama"],
                "parameter_size": "3.2B",
                "quantization_level": "Q4_K_M",
            });
            let models = each(&|name| {
                json!({
                    "name": name,
                    "model": name,
                    "modified_at": "2025-07-31T22:13:20Z",
                    "size": 2_019_393_189_u64,
                    "digest": "a80c4f17acd55265feec403c7aef86be0c25983ab279d83f3bcd3abbcb5b8b72",
                    "details": details,
                })
            });
            json!({"models": models})
        }
        Wire::Chat | Wire::Functions | Wire::Responses | Wire::Argo | Wire::Ollama => {
            let owner = if request.wire == Wire::Ollama { "library" } else { "system" };
            let data = each(
                &|name| json!({"id": name, "object": "model", "created": 1_754_000_000, "owned_by": owner}),
            );
            json!({"object": "list", "data": data})
        }
        Wire::Mistral => {
            let data = each(&|name| {
                json!({
                    "id": name,
                    "object": "model",
                    "created": 1_754_000_000,
                    "owned_by": "mistralai",
                    "capabilities": {"completion_chat": true, "completion_fim": false, "function_calling": true, "fine_tuning": false, "vision": false},
                    "name": name,
                    "aliases": [],
                    "max_context_length": 131_072,
                    "type": "base",
                })
            });
            json!({"object": "list", "data": data})
        }
        Wire::Cohere => {
            let models = each(
                &|name| json!({"name": name, "endpoints": ["chat"], "finetuned": false, "context_length": 256_000, "features": ["tools", "strict_tools"]}),
            );
            json!({"models": models})
        }
        Wire::Converse => {
            let summaries = each(
                &|name| json!({"modelId": name, "modelName": name, "responseStreamingSupported": true, "inferenceTypesSupported": ["ON_DEMAND"]}),
            );
            json!({"modelSummaries": summaries})
        }
        Wire::Dial => {
            let kind = if request.path.ends_with("/deployments") { "deployment" } else { "model" };
            let data = each(&|name| {
                json!({
                    "id": name,
                    "model": name,
                    "owner": "organization-owner",
                    "object": kind,
                    "status": "succeeded",
                    "created_at": 1_754_000_000,
                    "features": {"tools": true},
                })
            });
            json!({"data": data, "object": "list"})
        }
        Wire::Messages => {
            let data = each(
                &|name| json!({"type": "model", "id": name, "display_name": name, "created_at": "2025-07-31T00:00:00Z"}),
            );
            let (first, last) = (names.first(), names.last());
            json!({"data": data, "has_more": false, "first_id": first, "last_id": last})
        }
        Wire::GenerateContent => {
            let models = each(&|name| {
                json!({
                    "name": format!("models/{name}"),
                    "version": "001",
                    "displayName": name,
                    "inputTokenLimit": 1_048_576,
                    "outputTokenLimit": 65_536,
                    "supportedGenerationMethods": ["generateContent", "countTokens"],
                })
            });
            json!({"models": models})
        }
    }
}
