#!/usr/bin/env bash
# OpenAI Chat Completions with the tools of your MCP servers, streamed, by curl and jq; OPENAI_API_KEY.
set -euo pipefail
gateway=${GATEWAY_URL:-http://127.0.0.1:8787} openai=${OPENAI_BASE_URL:-https://api.openai.com/v1} model=${OPENAI_MODEL:-gpt-5.4-mini}
key="authorization: Bearer $OPENAI_API_KEY"
stream=$(mktemp)
trap 'rm -f "$stream"' EXIT

# Sends standard input: post TYPE URL [curl's options].
post() { curl -sS --fail-with-body -H "content-type: $1" --data-binary @- "${@:2}"; }
# The chunks of events, a line each.
chunks() { sed -un 's/^data: *{/{/p'; }
# One message of chunks.
join='[.[].choices[0].delta // empty] | {role: "assistant", content: (map(.content // "") | add), tool_calls: ([.[].tool_calls[]?]
  | group_by(.index) | map({id: (map(.id // "") | add), type: "function", function: (map(.function)
  | {name: (map(.name // "") | add), arguments: (map(.arguments // "") | add)})}))}'

tools=$(curl -sS --fail-with-body "$gateway/tools/openai?model=$model" | jq .tools)
messages='[{"role": "user", "content": "What is 15 plus 27?"}]'
calls=1
while ((calls > 0)); do
  jq --argjson tools "$tools" --arg model "$model" '{$model, $tools, stream: true, messages: .}' <<<"$messages" |
    post application/json "$openai/chat/completions" -N -H "$key" |
    tee "$stream" | chunks | jq --unbuffered -j '.choices[0].delta.content // empty'
  # The gateway reads the events as they came.
  results=$(post text/event-stream "$gateway/execute?provider=openai&model=$model" <"$stream" | jq .messages)
  calls=$(jq length <<<"$results")
  messages=$(jq --argjson said "$(chunks <"$stream" | jq -s "$join")" --argjson results "$results" '. + [$said] + $results' <<<"$messages")
done
echo
