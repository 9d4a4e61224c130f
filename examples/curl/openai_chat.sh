#!/usr/bin/env bash
# OpenAI Chat Completions with the tools of your MCP servers, by curl and jq; OPENAI_API_KEY.
set -euo pipefail
gateway=${GATEWAY_URL:-http://127.0.0.1:8787} openai=${OPENAI_BASE_URL:-https://api.openai.com/v1} model=${OPENAI_MODEL:-gpt-5.4-mini}
key="authorization: Bearer $OPENAI_API_KEY"

# Sends standard input: post URL [curl's options].
post() { curl -sS --fail-with-body -H 'content-type: application/json' --data-binary @- "$@"; }

tools=$(curl -sS --fail-with-body "$gateway/tools/openai?model=$model" | jq .tools)
messages='[{"role": "user", "content": "What is 15 plus 27?"}]'
calls=1
while ((calls > 0)); do
  reply=$(jq --argjson tools "$tools" --arg model "$model" '{$model, $tools, messages: .}' <<<"$messages" |
    post "$openai/chat/completions" -H "$key")
  results=$(jq --arg model "$model" '{provider: "openai", $model, call: .}' <<<"$reply" | post "$gateway/execute" | jq .messages)
  calls=$(jq length <<<"$results")
  messages=$(jq --argjson reply "$reply" --argjson results "$results" '. + [$reply.choices[0].message] + $results' <<<"$messages")
done
jq -r '.choices[0].message.content' <<<"$reply"
