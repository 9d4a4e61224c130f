// What the JavaScript clients have in common; see harness.py for what they are given and what they print.

// For one ability; nothing here takes a second.
const PATIENCE = 30_000;

/** Tries one ability after the other and prints what was seen. */
export class Report {
  constructor(way) {
    this.way = way;
  }

  async attempt(ability, work) {
    try {
      this.say(ability, { seen: await within(PATIENCE, work()) });
    } catch (error) {
      this.say(ability, { error: String(error?.stack ?? error).replace(/\s+/g, " ").slice(0, 400) });
    }
  }

  say(ability, more) {
    console.log(JSON.stringify({ way: this.way, ability, ...more }));
  }
}

/** The outcome, unless it takes too long. */
export function within(patience, work) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`no answer within ${patience} ms`)), patience);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Messages that came unasked. */
export class Inbox {
  messages = [];
  waiting = [];

  put(message) {
    this.messages.push(message);
    this.waiting.splice(0).forEach((wake) => wake());
  }

  async wait(count) {
    while (this.messages.length < count) await new Promise((wake) => this.waiting.push(wake));
    return this.messages.slice();
  }
}

/** The abilities of the SDK's client, which has the same methods in both lines. `words` are those that differ. */
export async function abilities(client, report, words) {
  const call = async (name, args = {}, options = undefined) => {
    const result = await words.call({ name, arguments: args }, options);
    return result.content[0].text;
  };
  const resourceNamed = async (name) => (await client.listResources()).resources.find((one) => one.name === name).uri;

  await report.attempt("connect", async () => words.era());
  await report.attempt("list", async () => (await client.listTools()).tools.map((tool) => tool.name).sort());
  await report.attempt("call", () => call("greet", { name: "Ada" }));
  await report.attempt("tool error", async () => {
    const result = await words.call({ name: "test_error_handling", arguments: {} });
    return [result.isError, result.content[0].text];
  });
  await report.attempt("content", async () => {
    const result = await words.call({ name: "test_multiple_content_types", arguments: {} });
    return result.content.map((block) => block.type);
  });
  await report.attempt("progress", async () => {
    const steps = [];
    const onprogress = ({ progress, total, message }) => steps.push([progress, total, message]);
    await call("test_tool_with_progress", {}, { onprogress });
    return steps;
  });
  await report.attempt("elicitation", async () => {
    words.answers.push({ username: "ada", email: "ada@example.org" }, null);
    const ask = () => call("test_elicitation", { message: "Who are you?" });
    return [await ask(), await ask()];
  });
  await report.attempt("sampling", () => call("test_sampling", { prompt: "Hello?" }));
  await report.attempt("roots", () => call("test_input_required_result_list_roots"));
  await report.attempt("logging", async () => {
    await words.wantLog(call);
    return (await words.logged.wait(3)).slice(0, 3);
  });
  await report.attempt("resources", async () => {
    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    const read = async (uri) => (await client.readResource({ uri })).contents[0].text;
    return [
      resources.map((one) => one.name).sort(),
      await read(await resourceNamed("static-text")),
      await read(resourceTemplates[0].uriTemplate.replace("{id}", "7")),
    ];
  });
  await report.attempt("subscribe", async () => {
    const uri = await resourceNamed("watched-resource");
    const stop = await words.watch({ resourceSubscriptions: [uri] });
    await call("test_trigger_resource_update");
    const [told] = await words.updated.wait(1);
    await stop();
    return [told === uri, (await client.readResource({ uri })).contents[0].text];
  });
  await report.attempt("prompts", async () => {
    const { prompts } = await client.listPrompts();
    const got = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });
    return [prompts.map((prompt) => prompt.name).sort(), got.messages[0].content.text];
  });
  await report.attempt("complete", async () => {
    const ref = { type: "ref/prompt", name: "test_prompt_with_arguments" };
    return (await client.complete({ ref, argument: { name: "arg1", value: "par" } })).completion.values;
  });
  await report.attempt("list changed", async () => {
    const stop = await words.watch({ toolsListChanged: true });
    // Servers may have become ready before, which is a change as well.
    let heard = words.changed.messages.length;
    await call("test_trigger_tool_change");
    do await words.changed.wait(++heard);
    while (!(await client.listTools()).tools.some((tool) => tool.name === "test_dynamic_tool"));
    await stop();
    return true;
  });
  await report.attempt("cancel", async () => {
    const label = report.way;
    const abort = new AbortController();
    const held = call("test_held_call", { label }, { signal: abort.signal }).catch((error) => error);
    await call("test_await_held_call", { label, state: "begun" });
    abort.abort();
    await held;
    return (await call("test_await_held_call", { label, state: "cancelled" })).replace(`${label} `, "");
  });
}

/** Runs `check(target, report)` for every target of the command line. */
export async function run(check) {
  for (const target of JSON.parse(process.argv[2])) {
    const report = new Report(target.way);
    try {
      await within(4 * PATIENCE, check(target, report));
    } catch (error) {
      report.say("connect", { error: String(error?.stack ?? error).slice(0, 400) });
    }
  }
  // What a client leaves open must not keep it.
  process.exit(0);
}
