// What the JavaScript clients have in common; see harness.py for what they are given and what they print.

export const QUESTION = "What is it?";

/** Abilities that need members of answers that OpenAI's API does not have. */
export const UNKNOWN_MEMBERS = ["gateway member", "gateway member streamed", "continuation", "continuation streamed"];

const MIXED = { "x-gateway-tools": "auto" };

/** Tries everything that the command line names. `open(baseUrl)` gives a client with the methods of harness.py. */
export async function run(open) {
  const order = JSON.parse(process.argv[2]);
  for (const way of order.ways) {
    const client = open(order.base_url);
    for (const [ability, wanted] of Object.entries(order.abilities)) {
      if (client.cannot.includes(ability)) continue;
      const line = { way, ability };
      const model = ability.startsWith("unknown model") ? "nobody" : `${way} ${ability}`;
      try {
        line.seen = await attempt(client, ability, model, wanted);
      } catch (error) {
        line.error = String(error?.stack ?? error).replace(/\s+/g, " ").slice(0, 400);
      }
      console.log(JSON.stringify(line));
    }
  }
}

async function attempt(client, ability, model, wanted) {
  const name = ability.replace(/ streamed$/, "");
  const stream = ability.endsWith("streamed") || ability === "broken stream";
  const picked = (said) => Object.fromEntries(wanted.map((key) => [key, said[key] ?? null]));
  if (name === "models") return (await client.models()).includes(model);
  if (name === "gateway member") return (await client.ask(model, stream)).gateway.calls.map((call) => call.tool_name);
  if (name === "continuation") {
    const first = await client.ask(model, stream);
    const more = [{ role: "assistant", content: first.text }, { role: "user", content: "Please go on." }];
    const second = await client.ask(model, stream, more, first.gateway.continuation);
    return { first: first.text, text: second.text };
  }
  if (name === "own tools" || name === "mixed") {
    const ran = [];
    const lookup = ({ key }) => {
      ran.push(["lookup", { key }]);
      return `found-${key}`;
    };
    const text = await client.useTool(model, stream, name === "mixed" ? MIXED : {}, lookup);
    // Some clients run calls at once, so that either may be first.
    return { text, ran: ran.sort((one, other) => one[1].key.localeCompare(other[1].key)) };
  }
  if (["plain", "reasoning", "gateway tools"].includes(name)) return picked(await client.ask(model, stream));
  let answer;
  try {
    answer = await client.ask(model, stream);
  } catch (error) {
    return { class: error.constructor.name, ...picked(client.failure(error)) };
  }
  throw new Error(`nothing is thrown: ${JSON.stringify(answer)}`);
}
