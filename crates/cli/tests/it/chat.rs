//! `chat` through a pipe and with one message; what needs a terminal is judged by `conformance/terminal_chat`.

use gateway_testkit::models::{Fault, Gate, ModelServer, Moment, Reply, Script, ServerOptions, Step, Wire};
use gateway_testkit::{Fixture, eventually_blocking};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::Run;
use crate::sandbox::{DEADLINE, Running, Sandbox, fixture, free_port, words};

/// A conversation with a scripted model that is called `m`, in front of the demo server.
struct Chat {
    sandbox: Sandbox,
    model: ModelServer,
    config: Value,
}

impl Chat {
    async fn with(script: Script) -> Self {
        let options = ServerOptions { strict: true, ..ServerOptions::default() };
        let model = ModelServer::start_with(Wire::Chat, script, options).await.unwrap();
        let entry = json!({"kind": "openai", "baseUrl": model.url(), "apiKey": "k", "model": "gpt-4.1", "retries": 0});
        let config =
            json!({"mcpServers": {"demo": {"type": "builtin"}}, "models": {"m": entry}, "log": false});
        let sandbox = Sandbox::new();
        sandbox.configure(&config);
        Self { sandbox, model, config }
    }

    /// The same with other members of the configuration.
    fn configured(mut self, name: &str, value: Value) -> Self {
        self.config[name] = value;
        self.sandbox.configure(&self.config);
        self
    }

    /// Runs the command to its end.
    fn run(&self, arguments: &[&str], input: &str) -> Run {
        let arguments = [&["chat"][..], arguments].concat();
        tokio::task::block_in_place(|| self.sandbox.run_with(&arguments, input, &[]))
    }

    /// The messages of a request, without the instructions.
    fn sent(&self, index: usize) -> Vec<Value> {
        let body = &self.model.requests()[index].body;
        body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["role"] != "system")
            .cloned()
            .collect()
    }
}

fn adds() -> Script {
    Script::new()
        .reply(Reply::new().text("Let me add.").call("call_1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().text("15 plus 27 is 42."))
}

/// Times differ from run to run.
fn without_times(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split(' ') {
        match word {
            "ms)" | "ms,"
                if words.last().is_some_and(|last: &&str| last.chars().all(|c| c.is_ascii_digit())) =>
            {
                words.pop();
                words.push("N");
                words.push(word);
            }
            other => words.push(other),
        }
    }
    words.join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_is_answered_on_standard_output_with_its_calls_beside() {
    let chat = Chat::with(adds()).await;
    let run = chat.run(&["What is 15 plus 27?"], "");
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (0, "Let me add.\n\n15 plus 27 is 42.\n"),
        "{}",
        run.stderr
    );
    let shown = without_times(&run.stderr);
    let result = r#"{"result":42,"operation":"add","a":15,"b":27}"#;
    assert_eq!(shown, format!("→ add {{\"a\":15,\"b\":27}}\n✓ add (demo, N ms) {result}\n"));
    assert_eq!(chat.sent(0), [json!({"role": "user", "content": "What is 15 plus 27?"})]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_line_of_a_pipe_is_a_message_of_one_conversation() {
    let script = Script::new().reply(Reply::new().text("Hello.")).reply(Reply::new().text("You said hi."));
    let chat = Chat::with(script).await;
    let run = chat.run(&[], "hi\n\nwhat did I \\\nsay?\n");
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "Hello.\nYou said hi.\n", ""));
    assert_eq!(
        chat.sent(1),
        [
            json!({"role": "user", "content": "hi"}),
            json!({"role": "assistant", "content": "Hello."}),
            json!({"role": "user", "content": "what did I \nsay?"}),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_input_can_be_one_message_with_instructions_before_it() {
    let chat = Chat::with(Script::new().reply(Reply::new().text("Good."))).await;
    let run = chat.run(&["--system", "Review this.", "-"], "one\n/reset\n");
    assert_eq!((run.status, run.stdout.as_str()), (0, "Good.\n"), "{}", run.stderr);
    assert_eq!(
        chat.model.requests()[0].body["messages"],
        json!([
            {"role": "system", "content": "Review this."},
            {"role": "user", "content": "one\n/reset"},
        ])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_usual_instructions_list_the_tools_and_blank_ones_are_left_out() {
    let script = Script::new().reply(Reply::new().text("Yes.")).reply(Reply::new().text("Yes."));
    let chat = Chat::with(script).await;
    chat.run(&["ready?"], "");
    chat.run(&["--system", "", "ready?"], "");
    let requests = chat.model.requests();
    let first = |index: usize| requests[index].body["messages"][0].clone();
    let text = first(0)["content"].as_str().unwrap().to_owned();
    assert!(text.contains("Available tools: ") && text.contains("add"), "{text}");
    assert_eq!(first(1), json!({"role": "user", "content": "ready?"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_follow_from_the_model_and_personal_data_is_screened() {
    let chat = Chat::with(Script::new().reply(Reply::new().text("Noted."))).await;
    let chat = chat.configured("privacy", json!({"chat": {"messages": "mask"}}));
    let run = chat.run(&["--system", "", "Mail jane.doe@example.com today."], "");
    assert_eq!((run.status, run.stdout.as_str()), (0, "Noted.\n"), "{}", run.stderr);
    let body = &chat.model.requests()[0].body;
    assert_eq!((&body["temperature"], &body["max_tokens"]), (&json!(0.7), &json!(4096)));
    let sent = body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(sent.starts_with("Mail ") && !sent.contains("jane.doe"), "{sent}");
    assert!(run.stderr.contains("personal data in messages: email (mask)"), "{}", run.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_need_approval_are_denied_without_a_terminal_and_approved_by_a_flag() {
    for (flags, denied) in
        [(&[][..], true), (&["--approve", "demo/*"], false), (&["--approve", "demo/echo"], true)]
    {
        let chat = Chat::with(adds()).await.configured("approval", json!({"tools": {"demo/add": "ask"}}));
        let run = chat.run(&[flags, &["What is 15 plus 27?"]].concat(), "");
        assert_eq!(run.status, 0, "{}", run.stderr);
        let result = chat.sent(1).pop().unwrap()["content"].as_str().unwrap().to_owned();
        assert_eq!(result.contains("there is no terminal to ask at"), denied, "{result}");
        assert_eq!(run.stderr.contains("✗ add (demo, "), denied, "{}", run.stderr);
        assert_eq!(run.stderr.contains("`--approve PATTERN` approves it"), denied, "{}", run.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_stays_denied() {
    let chat = Chat::with(adds()).await.configured("approval", json!({"tools": {"demo/add": "deny"}}));
    let run = chat.run(&["--approve", "*", "What is 15 plus 27?"], "");
    assert!(run.stderr.contains("the gateway's policy denies it"), "{}", run.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_is_an_error_and_the_message_can_be_sent_again() {
    let chat = Chat::with(Script::new().fault(Fault::ServerError).reply(Reply::new().text("Hello."))).await;
    let run = chat.run(&[], "hi\nhi again\n");
    assert_eq!((run.status, run.stdout.as_str()), (1, "Hello.\n"));
    assert!(run.stderr.starts_with("error: model `m`: answered 500"), "{}", run.stderr);
    assert_eq!(chat.sent(1), [json!({"role": "user", "content": "hi again"})]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_after_a_call_leaves_a_valid_conversation() {
    let script = Script::new()
        .reply(Reply::new().call("call_1", "add", json!({"a": 1, "b": 2})))
        .fault(Fault::ServerError)
        .reply(Reply::new().text("Hello."));
    let chat = Chat::with(script).await;
    let run = chat.run(&[], "add\nhi\n");
    assert_eq!((run.status, run.stdout.as_str()), (1, "Hello.\n"), "{}", run.stderr);
    let roles: Vec<Value> = chat.sent(2).iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_model_is_named_with_those_that_there_are() {
    let chat = Chat::with(Script::new()).await;
    let run = chat.run(&["--model", "other", "hi"], "");
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert_eq!(run.stderr, "error: no model is called `other`; there are: m\n");
}

#[test]
fn without_any_model_three_lines_say_what_to_do() {
    let sandbox = Sandbox::new();
    let run = sandbox.run_with(&["chat", "hi"], "", &[("MCP_GATEWAY_LOCAL_MODELS", "")]);
    assert_eq!((run.status, run.stdout.as_str()), (2, ""));
    assert_eq!(run.stderr.lines().count(), 3, "{}", run.stderr);
    for part in [
        "error: no model is configured, and none answers on this machine (MCP_GATEWAY_LOCAL_MODELS names no address)",
        "ollama run",
        "mcp-gateway-config.json: {\"models\"",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let closed = format!("127.0.0.1:{}", free_port());
    for address in [closed.clone(), format!("http://{closed}/v1")] {
        let run = sandbox.run_with(&["chat", "hi"], "", &[("MCP_GATEWAY_LOCAL_MODELS", &address)]);
        assert_eq!((run.status, run.stderr.lines().count()), (2, 3), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("(asked: {closed})\n")), "{}", run.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_on_this_machine_is_found_without_configuration() {
    for wire in [Wire::Ollama, Wire::Chat] {
        let script = Script::new().last(Step::reply(Reply::new().text("Hello.")));
        let models = vec!["nomic-embed-text".to_owned(), "qwen3:8b".to_owned()];
        let options = ServerOptions { models, ..ServerOptions::default() };
        let model = ModelServer::start_with(wire, script, options).await.unwrap();
        let address = format!("http://{}", model.address());
        let host = model.address().to_string();
        let sandbox = Sandbox::new();
        let run = |arguments: &[&str], variable: (&str, &str)| {
            tokio::task::block_in_place(|| sandbox.run_with(arguments, "", &[variable]))
        };
        for address in [&address, &host] {
            let found = run(&["chat", "hi"], ("MCP_GATEWAY_LOCAL_MODELS", address));
            assert_eq!((found.status, found.stdout.as_str()), (0, "Hello.\n"), "{wire:?}: {}", found.stderr);
        }
        let asked = model.requests().iter().rev().find(|request| request.method == "POST").cloned().unwrap();
        assert_eq!(asked.body["model"], "qwen3:8b", "{wire:?}");
        if wire == Wire::Ollama {
            let found = run(&["chat", "--model", "qwen3:8b", "hi"], ("OLLAMA_HOST", &host));
            assert_eq!((found.status, found.stdout.as_str()), (0, "Hello.\n"), "{}", found.stderr);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn argo_and_a_server_are_configured_by_their_variables() {
    let script = Script::new()
        .reply(Reply::new().call("call_1", "echo", json!({"text": "hi"})))
        .reply(Reply::new().text("It said hi."));
    let model = ModelServer::start(Wire::Argo, script).await.unwrap();
    let server = words(&Fixture::stdio()).join(" ");
    let variables = [
        ("ARGO_BASE_URL", model.url()),
        ("ARGO_DEFAULT_MODEL", Wire::Argo.usual_model()),
        ("MCP_SERVER_COMMAND", server.as_str()),
    ];
    let sandbox = Sandbox::new();
    let run = tokio::task::block_in_place(|| sandbox.run_with(&["chat", "Say hi."], "", &variables));
    assert_eq!((run.status, run.stdout.as_str()), (0, "It said hi.\n"), "{}", run.stderr);
    assert!(run.stderr.contains("✓ echo (default, "), "{}", run.stderr);
    let asked = model.requests().into_iter().find(|request| request.method == "POST").unwrap();
    assert_eq!(asked.body["model"], Wire::Argo.usual_model());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_saved_and_goes_on_from_its_file() {
    let script = Script::new()
        .reply(Reply::new().call("call_1", "add", json!({"a": 15, "b": 27})))
        .reply(Reply::new().text("42."))
        .reply(Reply::new().text("Still 42."));
    let chat = Chat::with(script).await;
    let run = chat.run(&[], "What is 15 plus 27?\n/save talk.json\n");
    assert!(run.status == 0 && run.stderr.ends_with("5 messages written to talk.json\n"), "{}", run.stderr);
    let saved: Value =
        serde_json::from_str(&std::fs::read_to_string(chat.sandbox.path("talk.json")).unwrap()).unwrap();
    let run = chat.run(&["--load", "talk.json", "--save", "talk.json", "Sure?"], "");
    assert_eq!((run.status, run.stdout.as_str()), (0, "Still 42.\n"), "{}", run.stderr);
    // The model sees the same conversation as if it had gone on.
    let asked = chat.model.requests()[2].body["messages"].clone();
    let mut expected = saved["messages"].as_array().unwrap().clone();
    expected.push(json!({"role": "user", "content": "Sure?"}));
    assert_eq!(asked, Value::Array(expected.clone()));
    expected.push(json!({"role": "assistant", "content": "Still 42."}));
    let saved: Value =
        serde_json::from_str(&std::fs::read_to_string(chat.sandbox.path("talk.json")).unwrap()).unwrap();
    assert_eq!(saved, json!({"model": "m", "messages": expected}));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_work_through_a_pipe() {
    let chat = Chat::with(Script::new().last(Step::reply(Reply::new().text("Hello.")))).await;
    let url = chat.model.url().to_owned();
    let entry = |name: &str| json!({"kind": "openai", "baseUrl": url, "apiKey": "k", "model": name, "settings": {"temperature": 0.5}});
    let chat = chat.configured("models", json!({"a": entry("gpt-4.1"), "b": entry("gpt-4o")}));
    let input = "hi\n/reset\n/model b\nhi\n/tools add\n/model\n/usage\n//help\n/hepl\n/quit\nnever\n";
    let run = chat.run(&[], input);
    assert_eq!((run.status, run.stdout.as_str()), (1, "Hello.\nHello.\nHello.\n"), "{}", run.stderr);
    let requests = chat.model.requests();
    let asked: Vec<(&Value, &Value)> =
        requests.iter().map(|request| (&request.body["model"], &request.body["temperature"])).collect();
    assert_eq!(
        asked,
        [(&json!("gpt-4.1"), &json!(0.5)), (&json!("gpt-4o"), &json!(0.5)), (&json!("gpt-4o"), &json!(0.5)),]
    );
    assert_eq!(chat.sent(1), [json!({"role": "user", "content": "hi"})]);
    assert_eq!(chat.sent(2).last(), Some(&json!({"role": "user", "content": "/help"})));
    for part in [
        "the conversation begins anew",
        "b is asked from now on",
        "demo    add   run    ",
        "b      openai  asked now",
        "2 answers",
        "error: no command is called /hepl; did you mean `help`?",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_fail_are_named_before_the_first_message() {
    let chat = Chat::with(Script::new().last(Step::reply(Reply::new().text("Hello.")))).await;
    let dead = |required: bool| json!({"demo": {"type": "builtin"}, "dead": {"command": "/nowhere/x", "required": required}});
    let chat = chat.configured("mcpServers", dead(false));
    let run = chat.run(&["hi"], "");
    assert_eq!((run.status, run.stdout.as_str()), (0, "Hello.\n"), "{}", run.stderr);
    assert!(run.stderr.contains("server `dead` failed: "), "{}", run.stderr);
    let chat = chat.configured("mcpServers", dead(true));
    let run = chat.run(&["hi"], "");
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(run.stderr.ends_with("error: server `dead` is required, and failed\n"), "{}", run.stderr);
    let run = chat.run(&["--server", "demo", "hi"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_server_is_named_once() {
    let chat = Chat::with(Script::new().last(Step::reply(Reply::new().text("Hello.")))).await;
    let invalid =
        |required: bool| json!({"demo": {"type": "builtin"}, "bad": {"comand": "x", "required": required}});
    let chat = chat.configured("mcpServers", invalid(false));
    let run = chat.run(&["hi"], "");
    assert_eq!((run.status, run.stdout.as_str()), (0, "Hello.\n"), "{}", run.stderr);
    assert!(run.stderr.contains("Server \"bad\"") && run.stderr.lines().count() == 1, "{}", run.stderr);
    let chat = chat.configured("mcpServers", invalid(true));
    let run = chat.run(&["hi"], "");
    assert_eq!((run.status, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(
        run.stderr.ends_with("error: server `bad` is needed, and its entry is invalid\n"),
        "{}",
        run.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_another_gateway_has_open_is_one_line_and_data_names_another() {
    let chat = Chat::with(Script::new().last(Step::reply(Reply::new().text("Hello.")))).await;
    let chat = chat.configured("log", json!({}));
    let _running = chat.sandbox.serve(&[]);
    let run = chat.run(&["--data", "data", "hi"], "");
    let expected = "warning: another gateway has the call log open, so calls are logged in memory only; `--data DIR` names another directory\n";
    assert_eq!((run.status, run.stderr.as_str()), (0, expected));
    let run = chat.run(&["--data", "other", "hi"], "");
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
    assert!(chat.sandbox.path("other/calls.db").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_files_are_loaded() {
    let chat = Chat::with(Script::new()).await;
    let run = chat.run(&[], "/load /dev/zero\n");
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (1, "error: reading /dev/zero: it is not a regular file\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_tools_of_the_named_server_are_offered() {
    let chat = Chat::with(Script::new().last(Step::reply(Reply::new().text("Hello.")))).await;
    let other = fixture(&Fixture::stdio());
    let chat = chat.configured("mcpServers", json!({"demo": {"type": "builtin"}, "other": other}));
    let names = |index: usize| -> Vec<String> {
        let tools = chat.model.requests()[index].body["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(chat.run(&["hi"], "").status, 0);
    assert_eq!(chat.run(&["--server", "demo", "hi"], "").status, 0);
    assert!(names(0).len() > names(1).len() && names(1).contains(&"add".to_owned()), "{:?}", names(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_writes_reaches_programs_as_it_is_and_notices_escaped() {
    let hostile = "\u{1b}[2J\u{202e}x";
    let script = Script::new()
        .reply(Reply::new().call("call_1", "get_weather", json!({"location": hostile})))
        .reply(Reply::new().text(hostile));
    let chat = Chat::with(script).await;
    let run = chat.run(&["hi"], "");
    assert_eq!(run.stdout, format!("{hostile}\n"));
    assert!(!run.stderr.contains('\u{1b}') && !run.stderr.contains('\u{202e}'), "{:?}", run.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_with_the_model_request_and_the_servers() {
    let gate = Gate::new();
    let script = Script::new().step(Step::reply(Reply::new().text("Hello.")).wait(Moment::Chunk(1), &gate));
    let chat = Chat::with(script).await;
    let chat = chat.configured("mcpServers", json!({"other": fixture(&Fixture::stdio())}));
    let folder = chat.sandbox.folder().canonicalize().unwrap();
    // The command, and the server that it starts.
    let processes = || {
        let all = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path().join("cwd"));
        all.filter_map(|cwd| std::fs::read_link(cwd).ok()).filter(|cwd| cwd.starts_with(&folder)).count()
    };
    let mut running = Running::start(chat.sandbox.command(&["chat", "hi"]));
    chat.model.arrived(0).await.unwrap();
    assert!(processes() >= 2);
    running.signal(Signal::INT);
    let (status, _) = tokio::task::block_in_place(|| running.end());
    assert_eq!(status, Some(130), "{}", running.errors());
    chat.model.aborted(0).await.unwrap();
    eventually_blocking(DEADLINE, "no process is left", || processes() == 0).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn personal_data_is_masked_before_the_model_gets_it_or_refused() {
    let script = Script::new().last(Reply::new().text("I write to anna@example.com."));
    let chat = Chat::with(script).await.configured("privacy", json!({"chat": "mask"}));
    let run = chat.run(&["I am anna@example.com."], "");
    assert_eq!((run.status, run.stdout.as_str()), (0, "I write to [email].\n"), "{}", run.stderr);
    // Once each, and without an event of the log.
    assert_eq!(
        run.stderr,
        "personal data in messages: email (mask)\npersonal data in answers: email (mask)\n"
    );
    assert_eq!(chat.sent(0), [json!({"role": "user", "content": "I am [email]."})]);

    let chat = chat.configured("privacy", json!({"chat": {"messages": "block"}}));
    let run = chat.run(&["I am anna@example.com."], "");
    assert!(run.status != 0 && run.stdout.is_empty(), "{} {}", run.status, run.stdout);
    assert!(run.stderr.contains("error: the message contains personal data (email)"), "{}", run.stderr);
    assert_eq!(chat.model.requests().len(), 1);
}
